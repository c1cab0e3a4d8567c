// SPDX-License-Identifier: Apache-2.0
// Operands that pass through other registers on their way, and links that nothing moves over.

#include <gtest/gtest.h>

#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

HardwareModel detour() {
  const auto loaded = load_hardware(ISAMAP_SOURCE_DIR "/tests/conformance/models/detour.yaml", {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

TEST(Detour, SumsLeaveAccumulatorsThroughVectorRegisters) {
  const HardwareModel model = detour();
  const auto runner = make_runner(model);
  for (const char* example : {"gemm", "gemm_accumulate", "conv2d", "gemv"})
    if (const auto variant = odd(example)) {
      SCOPED_TRACE(variant->label);
      const Compiled compiled = compile(variant->kernel, model);
      ASSERT_TRUE(compiled.program) << compiled.problem;
      const std::string text = print(compiled.scheduled->schedule);
      auto expected = random_data(variant->kernel, Fill::integers, 9), found = expected;
      interpret(variant->kernel, expected);
      const auto outcome = runner->run(*compiled.program, found, RunLimits{}, 0);
      ASSERT_TRUE(outcome) << render(outcome.diagnostics());
      ASSERT_EQ(outcome->missing, "");
      const Comparison comparison = compare(variant->kernel, expected, found);
      EXPECT_TRUE(comparison.equal) << comparison.first_difference << "\n" << text;
      EXPECT_EQ(interpreted_difference(*compiled.program, model, Fill::integers, 3), "") << text;
    }
  const Compiled gemm = compile(original("gemm"), model);
  ASSERT_TRUE(gemm.program) << gemm.problem;
  EXPECT_NE(print(gemm.scheduled->schedule).find("  - stage C in vec\n  - stage C in acc\n"), std::string::npos)
      << print(gemm.scheduled->schedule);
}

/// Factors stand in registers and the sums in accumulators: a link from one to memory is no way to the other.
TEST(Detour, LinksThatNothingMovesOverCostNothing) {
  const HardwareModel model = detour();
  const Compiled gemm = compile(original("gemm"), model);
  ASSERT_TRUE(gemm.scheduled) << gemm.problem;
  const Cost& cost = gemm.scheduled->cost;
  EXPECT_FALSE(cost.link_bytes.contains("unused"));
  EXPECT_NE(cost.bound, "link unused");
  EXPECT_GT(cost.link_bytes.at("out"), 0);
}

}  // namespace
}  // namespace isamap::conformance
