// SPDX-License-Identifier: Apache-2.0
// Products of tiles whose rows, columns and steps do not divide: registers whose shape is state take what is left,
// where they can, and what their layouts have room for beyond the tensor holds zeros.

#include <gtest/gtest.h>

#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

Kernel product(const char* types, int m, int n, int k) {
  const bool bytes = std::string(types) == "u8s8";
  const std::string text =
      "kernel: product\ndims: {M: " + std::to_string(m) + ", N: " + std::to_string(n) + ", K: " + std::to_string(k) +
      "}\ntensors:\n  A: {shape: [M, K], dtype: " + (bytes ? "u8" : "bf16") +
      "}\n  B: {shape: [K, N], dtype: " + (bytes ? "s8" : "bf16") +
      ", constant: true}\n  C: {shape: [M, N], dtype: " + (bytes ? "s32" : "f32") +
      "}\ncompute:\n  - C[i,j] += " + (bytes ? "s32(A[i,k]) * s32(B[k,j])" : "A[i,k] * B[k,j]") + "\n";
  const auto kernel = parse_kernel_yaml(text, "product");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

void expect_tails(const std::vector<const char*>& all_types, const std::vector<std::tuple<int, int, int>>& sizes) {
  const HardwareModel model = load_model("intel_amx");
  const auto runner = make_runner(model);
  std::string not_run;
  for (const char* types : all_types)
    for (const auto& [m, n, k] : sizes) {
      const Kernel kernel = product(types, m, n, k);
      const Compiled compiled = compile(kernel, model);
      ASSERT_TRUE(compiled.program) << compiled.problem;
      SCOPED_TRACE(kernel.name + std::string(types) + " " + std::to_string(m) + " " + std::to_string(n) + " " +
                   std::to_string(k) + "\n" + print(compiled.scheduled->schedule));
      EXPECT_EQ(interpreted_difference(*compiled.program, model, Fill::integers, 4), "");
      auto expected = random_data(kernel, Fill::integers, 9), found = expected;
      interpret(kernel, expected);
      const auto outcome = runner->run(*compiled.program, found, RunLimits{}, 0);
      ASSERT_TRUE(outcome) << render(outcome.diagnostics());
      if (!outcome->missing.empty()) {
        not_run = outcome->missing;
        continue;
      }
      const Comparison comparison = compare(kernel, expected, found);
      EXPECT_TRUE(comparison.equal) << comparison.first_difference;
    }
  if (!not_run.empty()) GTEST_SKIP() << not_run;
}

TEST(Tails, OfTilesWhoseShapeIsState) {
  expect_tails({"bf16"}, {{33, 17, 70}});
  expect_tails({"u8s8"}, {{1, 40, 34}});
}

TEST(HeavyTails, OfTilesWhoseShapeIsState) {
  expect_tails({"bf16", "u8s8"}, {{33, 17, 70},
                                  {1, 40, 34},
                                  {70, 1, 68},
                                  {16, 16, 30},
                                  {5, 3, 64},
                                  {64, 32, 36},
                                  {37, 100, 33},
                                  {48, 33, 126},
                                  {20, 35, 65}});
}

/// Zeros beyond the end of k are in A and B only: z and y are the same along k, so (0 - z) * (0 - y) is a term more.
TEST(Tails, OfDifferencesAddNothing) {
  const HardwareModel model = load_model("x86_avx512");
  const std::vector<std::pair<std::string, std::string>> sums = {
      {"T[i] += (A[i,k] - z[i]) * (B[i,k] - y[i])", "A=s32,B=s32,z=s32,y=s32,T=s32"},
      {"T[i] += (A[i,k] - z[i]) * B[i,k]", "A=s32,B=s32,z=s32,T=s32"}};
  for (const auto& [sum, dtypes] : sums)
    for (const int k : {13, 16, 29}) {
      const auto kernel = kernel_from_formula(sum, "i=3,k=" + std::to_string(k), dtypes);
      ASSERT_TRUE(kernel) << render(kernel.diagnostics());
      const Compiled compiled = compile(*kernel, model);
      ASSERT_TRUE(compiled.program) << compiled.problem;
      SCOPED_TRACE(sum + "\n" + print(compiled.scheduled->schedule));
      EXPECT_EQ(interpreted_difference(*compiled.program, model, Fill::integers, 4), "");
    }
}

/// [k/32, j/16, k/2%16, j%16, k%2] has room for whole groups of 32, of which k = 70 fills two and a part.
TEST(Tails, RoomOfEveryDigitIsZero) {
  const auto loaded = load_hardware(ISAMAP_SOURCE_DIR "/tests/conformance/models/whole_tiles.yaml",
                                    {ISAMAP_SOURCE_DIR "/hardware_models"});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const HardwareModel& model = loaded->model;
  const Kernel kernel = product("bf16", 16, 16, 70);
  const auto schedule = parse_schedule(R"(schedule: product
nest:
  - stage A in ram as [k/32, i, k%32]
  - stage B in ram as [j/16, k/32, k/2%16, j%16, k%2] aot
  - stage C in tile
  - for k by 32
  - stage A in tile
  - stage B in tile
  - do s0 with dp_whole(i=i, j=j, k=k)
)",
                                       "s.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  EXPECT_EQ(interpreted_difference(*program, model, Fill::integers, 4), "");
}

}  // namespace
}  // namespace isamap::conformance
