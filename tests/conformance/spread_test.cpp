// An input that one load spreads over a register: it stands in the scratchpad as rows that the DMA engine writes, not
// as copies that the host would make.

#include <gtest/gtest.h>

#include <regex>

#include "backends/backend.h"
#include "hwdesc/yaml_loader.h"
#include "scheduler/schedule_file.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

TEST(Spread, NothingIsCopiedForALoadThatRepeats) {
  const auto loaded = load_hardware(ISAMAP_SOURCE_DIR "/tests/conformance/models/spread.yaml", {});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const HardwareModel& model = loaded->model;
  const auto runner = make_runner(model);
  for (const char* example : {"gemm", "gemv", "conv2d", "conv1d", "depthwise"})
    for (const auto& variant : {odd(example), ones(example)}) {
      if (!variant) continue;
      SCOPED_TRACE(variant->label);
      const Compiled compiled = compile(variant->kernel, model);
      ASSERT_TRUE(compiled.program) << compiled.problem;
      const std::string text = print(compiled.scheduled->schedule);
      EXPECT_FALSE(std::regex_search(text, std::regex("in ddr as [^\n]*\\$"))) << text;
      auto expected = random_data(variant->kernel, Fill::integers, 9), found = expected;
      interpret(variant->kernel, expected);
      const auto outcome = runner->run(*compiled.program, found, RunLimits{}, 0);
      ASSERT_TRUE(outcome) << render(outcome.diagnostics());
      const Comparison comparison = compare(variant->kernel, expected, found);
      EXPECT_TRUE(comparison.equal) << comparison.first_difference << "\n" << text;
      EXPECT_EQ(interpreted_difference(*compiled.program, model, Fill::integers, 3), "") << text;
    }
}

}  // namespace
}  // namespace isamap::conformance
