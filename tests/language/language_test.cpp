// SPDX-License-Identifier: Apache-2.0
// The statement language, one construct a section: read and printed, refused with a place, interpreted as direct loops
// are, and run.

#include <fmt/format.h>

#include <ctime>
#include <limits>

#include "tests/language/support.h"

namespace isamap {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Limits ------------------------------------------------------------------------------------------------------------

TEST(Limits, FourHundredStatementsAreReadAndVerifiedAtOnce) {
  std::string tensors = "  T0: {shape: [8, 6]}\n", compute;
  for (int s = 0; s < 400; ++s) {
    tensors += fmt::format("  T{}: {{shape: [8, 6]}}\n  W{}: {{shape: [6, 6], constant: true}}\n", s + 1, s);
    compute += fmt::format("  - T{}[i,j] += T{}[i,k] * W{}[k,j]\n", s + 1, s, s);
  }
  const Kernel kernel = kernel_of("kernel: deep\ntensors:\n" + tensors + "compute:\n" + compute);
  ASSERT_EQ(kernel.statements.size(), 400U);
  EXPECT_EQ(arguments(kernel).size(), 402U);
  const std::clock_t start = std::clock();
  for (int times = 0; times < 10; ++times) EXPECT_TRUE(verify(kernel).empty());
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1.0);  // ten times 400 statements
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    EXPECT_EQ(roles_of(kernel)[t], role_of(kernel, make_id<TensorId>(t)));
}

// Outputs that are read ----------------------------------------------------------------------------------------------

std::string residual(const std::string& words, const std::string& sizes = "{M: 5, N: 7, K: 3}") {
  return "kernel: residual\ndims: " + sizes + R"(
tensors:
  A: {shape: [M, K]}
  B: {shape: [K, N]}
  C: {shape: [M, N])" +
         words + R"(}
  D: {shape: [M, N]}
compute:
  - C[i,j] += A[i,k] * B[k,j]
  - D[i,j] = max(C[i,j], 0)
)";
}

TEST(Outputs, ATensorThatIsReadLaterIsAnOutputIfItSaysSo) {
  EXPECT_EQ(arguments(kernel_of(residual(""))).size(), 3U);
  const Kernel kernel = kernel_of(residual(", output: true"));
  EXPECT_EQ(arguments(kernel).size(), 4U);
  EXPECT_EQ(role_of(kernel, make_id<TensorId>(2)), Role::output);
  EXPECT_NE(print(kernel).find("tensor C: f32[5,7] output\n"), std::string::npos);
}

void outputs_are_run(Every every) {
  for (const char* sizes : {"{M: 5, N: 7, K: 3}", "{M: 1, N: 1, K: 1}", "{M: 0, N: 4, K: 2}", "{M: 3, N: 4, K: 0}",
                            "{M: 33, N: 40, K: 17}"})
    if (!every.skips()) expect_right(kernel_of(residual(", output: true", sizes)));
}

TEST(Outputs, AreRun) { outputs_are_run(Every(2)); }
TEST(HeavyOutputs, AreRun) { outputs_are_run(Every(1)); }

TEST(Outputs, AreWritten) {
  std::string text = residual("");
  text.replace(text.find("A: {shape: [M, K]}"), 18, "A: {shape: [M, K], output: true}");
  EXPECT_EQ(problems_of(text),
            "k.yaml:4:3: kernel 'residual': tensor 'A' is an `output`, but no statement writes it\n"
            "      A: {shape: [M, K], output: true}\n"
            "      ^\n"
            "  hint: remove `output`\n");
}

TEST(Outputs, OfRecurrencesAreKept) {
  const Kernel kernel = kernel_of(R"(kernel: sums
tensors:
  X: {shape: [4, 3]}
  G: {shape: [4, 3], output: true}
  S: {shape: [5, 3], inout: true}
compute:
  - repeat: {t: 4}
    compute:
      - G[t,b] = X[t,b] * S[t,b]
      - S[t+1,b] = G[t,b] + 1
)");
  EXPECT_EQ(arguments(kernel).size(), 3U);
  expect_right(kernel);
}

// The value of reads outside, at the read
// ------------------------------------------------------------------------------

std::string pooled(const std::string& sizes) {
  return "kernel: pooled\ndims: " + sizes + R"(
tensors:
  X: {shape: [P], outside: 1}
  F: {shape: [3]}
  C: {shape: [P]}
  O: {shape: [P]}
  Y: {shape: [P]}
compute:
  - C[p] += X[p+r-1] outside 0 * F[r]
  - O[p] max= X[p+q-1] outside -inf
  - Y[p] = X[p-1] + O[p]
where: {q: 3}
)";
}

TEST(OutsideAtARead, IsReadAndPrinted) {
  const Kernel kernel = kernel_of(pooled("{P: 6}"));
  EXPECT_EQ(kernel.statements[0].reads[0].outside, 0.0);
  EXPECT_EQ(kernel.statements[1].reads[0].outside, -infinity);
  EXPECT_FALSE(kernel.statements[2].reads[0].outside);
  EXPECT_EQ(print(kernel.statements[1], kernel.tensors), "O[p] max= X[p + q - 1] outside -inf over p: 6, q: 3");
  // The tensor's own value said again says nothing new.
  const std::string tensors = "kernel: k\ntensors:\n  X: {shape: [4], outside: 2}\n  Y: {shape: [4]}\ncompute:\n";
  EXPECT_EQ(kernel_of(tensors + "  - Y[i] = X[i-1] outside 2 + X[i-1]\n").statements[0].reads.size(), 1U);
}

void outside_is_what_loops_compute(Every run) {
  for (const int size : {0, 1, 2, 6, 19}) {
    const Kernel kernel = kernel_of(pooled(fmt::format("{{P: {}}}", size)));
    std::vector<TensorData> data = interpreted(kernel);
    const TensorData &x = data_of(kernel, data, "X"), &f = data_of(kernel, data, "F"), &c = data_of(kernel, data, "C"),
                     &y = data_of(kernel, data, "Y");
    for (int p = 0; p < size; ++p) {
      double sum = 0, most = -infinity;
      for (int r = 0; r < 3; ++r)
        if (const int at = p + r - 1; at >= 0 && at < size)
          sum += number_at(x, at) * number_at(f, r), most = std::max(most, number_at(x, at));
      EXPECT_EQ(number_at(c, p), sum);
      EXPECT_EQ(number_at(y, p), (p > 0 ? number_at(x, p - 1) : 1) + most);
    }
    if (!run.skips()) expect_right(kernel);
  }
}

TEST(OutsideAtARead, IsWhatLoopsCompute) { outside_is_what_loops_compute(Every(2)); }
TEST(HeavyOutsideAtARead, IsWhatLoopsCompute) { outside_is_what_loops_compute(Every(1)); }

void outside_of_rows_for_vectors(const std::vector<int>& sizes) {
  for (const int size : sizes)
    expect_right(kernel_of(fmt::format(R"(kernel: window
tensors:
  X: {{shape: [4, {0}, 16]}}
  F: {{shape: [16, 3, 32]}}
  O: {{shape: [4, {0}, 32]}}
  M: {{shape: [4, {0}, 16]}}
compute:
  - O[n,p,k] += X[n,p+r-1,c] outside 0 * F[c,r,k]
  - M[n,p,c] max= X[n,p+r-1,c] outside -inf
where: {{r: 3, p: {0}}}
)",
                                       size)));
}

TEST(OutsideAtARead, OfRowsForVectors) { outside_of_rows_for_vectors({31}); }
TEST(HeavyOutsideAtARead, OfRowsForVectors) { outside_of_rows_for_vectors({1, 16}); }

TEST(OutsideAtARead, HasOneValueForATensorInAStatement) {
  const std::string tensors = "kernel: k\ntensors:\n  X: {shape: [4]}\n  Y: {shape: [4]}\ncompute:\n";
  EXPECT_EQ(problems_of(tensors + "  - Y[i] = X[i-1] outside 0 + X[i+1] outside 1\n"),
            "k.yaml:6:33: kernel 'k': statement s0: reads 'X' with `outside` 0 and with `outside` 1\n"
            "      - Y[i] = X[i-1] outside 0 + X[i+1] outside 1\n"
            "                                    ^\n"
            "  hint: one value for each tensor in a statement: compute one of the reads in a statement of its own\n");
  // A read that stays inside has none.
  kernel_of(tensors + "  - Y[i] = X[i-1] outside 0 + X[i]\n");
}

TEST(OutsideAtARead, IsOfReadsAndOfTheirType) {
  const std::string tensors =
      "kernel: k\ntensors:\n  X: {shape: [4], dtype: s8}\n  Y: {shape: [4], dtype: s8}\ncompute:\n";
  EXPECT_EQ(problems_of(tensors + "  - Y[i] outside 0 = X[i]\n"),
            "k.yaml:6:10: `outside` is of reads; what is written lies inside\n"
            "      - Y[i] outside 0 = X[i]\n"
            "             ^\n"
            "  hint: leave it out\n");
  EXPECT_EQ(problems_of(tensors + "  - Y[i] = X[i-1] outside 0.5\n"),
            "k.yaml:6:14: kernel 'k': statement s0: reads X[i - 1], whose `outside` 0.5 is not a value of s8\n"
            "      - Y[i] = X[i-1] outside 0.5\n"
            "                 ^\n");
}

}  // namespace
}  // namespace isamap
