// SPDX-License-Identifier: Apache-2.0
// Machines of assembly with something odd: masks that are registers with a name, operands that lie interleaved.

#include "backends/assembly/printer.h"
#include "isamap/frontends.h"
#include "tests/backends/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

HardwareModel odd_machine(const std::string& name) {
  auto loaded = load_hardware(std::string(ISAMAP_SOURCE_DIR) + "/tests/backends/models/" + name + ".yaml", {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

/// What the search makes of it, which must be right; the text.
std::string run(const HardwareModel& model, const std::string& compute, const std::string& dims,
                const std::string& types) {
  auto kernel = kernel_from_formula(compute, dims, types);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  const Program made = searched(*kernel, model);
  expect_same(made, model, 4);
  const auto text = print_assembly(made, model);
  EXPECT_TRUE(text) << render(text.diagnostics());
  return *text;
}

TEST(OddMachines, AssemblyNamesMaskRegisters) {
  const HardwareModel model = odd_machine("masked_asm");
  for (const int size : {2, 3, 4, 7}) {
    SCOPED_TRACE(size);
    const std::string text = run(model, "C[j] += A[i,j]", "i=3,j=" + std::to_string(size), "A=s32,C=s32");
    EXPECT_EQ(text.find("if q") != std::string::npos, size % 4 != 0) << text;
  }
}

TEST(OddMachines, OperandsThatLieInterleaved) {
  const HardwareModel model = odd_machine("interleaved");
  for (const int k : {16, 32, 15, 7, 1})
    for (const char* compute : {"C[i] += s32(A[k,i]) * s32(B[k])", "C[i] += s32(A[i,k]) * s32(B[k])"}) {
      SCOPED_TRACE(std::string(compute) + " " + std::to_string(k));
      const std::string text = run(model, compute, "i=37,k=" + std::to_string(k), "A=s16,B=s16,C=s32");
      EXPECT_NE(text.find("\nmvm "), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace isamap
