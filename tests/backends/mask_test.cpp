// Masks in assembly: registers with a name, which the simulator reads.

#include "backends/assembly/printer.h"
#include "frontends/frontends.h"
#include "mapper/mapper.h"
#include "scheduler/lower.h"
#include "scheduler/scheduler.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {

TEST(Masks, AssemblyNamesTheirRegisters) {
  auto loaded = load_hardware(std::string(ISAMAP_SOURCE_DIR) + "/tests/backends/models/masked_asm.yaml", {});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const HardwareModel& model = loaded->model;
  for (const int size : {2, 3, 4, 7}) {
    SCOPED_TRACE(size);
    auto kernel = kernel_from_formula("C[j] += A[i,j]", "i=3,j=" + std::to_string(size), "A=s32,C=s32");
    ASSERT_TRUE(kernel) << render(kernel.diagnostics());
    auto mapped = enumerate_mappings(*kernel, model, {});
    ASSERT_TRUE(mapped) << render(mapped.diagnostics());
    auto scheduled = schedule(*kernel, *mapped, model, {});
    ASSERT_TRUE(scheduled) << render(scheduled.diagnostics());
    auto made = lower(scheduled->schedule, *kernel, model);
    ASSERT_TRUE(made) << render(made.diagnostics());
    const auto text = print_assembly(*made, model);
    ASSERT_TRUE(text) << render(text.diagnostics());
    EXPECT_EQ(text->find("if q") != std::string::npos, size % 4 != 0) << *text;
    expect_same(*made, model, 4);
  }
}

}  // namespace
}  // namespace isamap
