// SPDX-License-Identifier: Apache-2.0
// An input that one load spreads over a register: it stands in the scratchpad as rows that the DMA engine writes, not
// as copies that the host would make.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"
#include "tests/conformance/matrix.h"
#include "tests/scratch.h"

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

/// Moves that state no type carry that of the registers, in which all have one: whole numbers, not their first bytes.
TEST(Spread, MovesWithoutATypeCarryWhatTheirMemoryHolds) {
  std::ifstream file(ISAMAP_SOURCE_DIR "/tests/conformance/models/spread.yaml");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string typed = "operands: {D: {dtype: f32}, S: {dtype: f32, align: 32B}}",
                    free = "operands: {S: {align: 32B}}";
  ASSERT_NE(text.find(typed), std::string::npos);
  text.replace(text.find(typed), typed.size(), free);
  const std::string path = scratch("spread.yaml");
  std::ofstream(path) << text;
  const auto loaded = load_hardware(path, {});
  std::filesystem::remove(path);
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const auto variant = odd("gemm");
  ASSERT_TRUE(variant);
  const Compiled compiled = compile(variant->kernel, loaded->model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  auto expected = random_data(variant->kernel, Fill::integers, 9), found = expected;
  interpret(variant->kernel, expected);
  const auto outcome = make_runner(loaded->model)->run(*compiled.program, found, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  EXPECT_EQ(compare(variant->kernel, expected, found).first_difference, "");
}

}  // namespace
}  // namespace isamap::conformance
