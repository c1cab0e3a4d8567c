// SPDX-License-Identifier: Apache-2.0
// An instruction that slides a window over memory, on sizes that fill neither its results nor its taps.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

Kernel filter(int results, int taps, const std::string& type, const std::string& sums) {
  const auto kernel = parse_kernel_yaml(
      fmt::format("kernel: filter\ndims: {{K: 3, C: 2, P: {}, R: {}}}\n"
                  "tensors: {{I: {{shape: [C, P + R - 1], dtype: {}}}, F: {{shape: [K, C, R], dtype: {}}}, "
                  "O: {{shape: [K, P], dtype: {}}}}}\n"
                  "compute: [\"O[k,p] += I[c,p+r] * F[k,c,r]\"]\n",
                  results, taps, type, type, sums),
      "filter");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

TEST(Window, ReadsPastTheEndFindRoom) {
  const auto loaded = load_hardware(ISAMAP_SOURCE_DIR "/tests/conformance/models/fir.yaml", {});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const auto runner = make_runner(loaded->model);
  for (const auto& [results, taps, type] :
       {std::tuple{50, 5, "s16"}, {48, 4, "s16"}, {3, 9, "s16"}, {50, 5, "f32"}, {0, 5, "f32"}}) {
    const Kernel kernel = filter(results, taps, type, std::string(type) == "s16" ? "s32" : "f32");
    SCOPED_TRACE(print(kernel));
    const Compiled compiled = compile(kernel, loaded->model);
    ASSERT_TRUE(compiled.program) << compiled.problem;
    EXPECT_TRUE(compiled.scheduled->mappings.at(0).instruction.valid());
    EXPECT_EQ(interpreted_difference(*compiled.program, loaded->model, Fill::integers, 3), "");
    auto expected = random_data(kernel, Fill::integers, 5), found = expected;
    interpret(kernel, expected);
    const auto outcome = runner->run(*compiled.program, found, RunLimits{}, 0);
    ASSERT_TRUE(outcome) << render(outcome.diagnostics());
    ASSERT_EQ(outcome->missing, "");
    const Comparison comparison = compare(kernel, expected, found);
    EXPECT_TRUE(comparison.equal) << comparison.first_difference;
  }
}

}  // namespace
}  // namespace isamap::conformance
