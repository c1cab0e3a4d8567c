// SPDX-License-Identifier: Apache-2.0
// Values of iterators, and reads at computed places.

#include <fmt/format.h>

#include "tests/language/support.h"

namespace isamap {
namespace {

// Values of iterators ------------------------------------------------------------------------------------------------

std::string masked(const std::string& sizes) {
  return "kernel: masked\ndims: " + sizes + R"(
tensors:
  S: {shape: [M, N]}
  P: {shape: [M, N], dtype: s32}
  Y: {shape: [M, N]}
  L: {shape: [M], dtype: s64}
compute:
  - P[i,j] = value(2*i + j - 3)
  - Y[i,j] = select(max(f32(value(j)) - f32(value(i)), 0), -100, S[i,j])
  - L[i] max= s64(value(k))
where: {k: 5}
)";
}

TEST(Values, AreReadAndPrinted) {
  const Kernel kernel = kernel_of(masked("{M: 4, N: 6}"));
  EXPECT_EQ(print(kernel.statements[0], kernel.tensors), "P[i,j] = value(2*i + j - 3) over i: 4, j: 6");
  EXPECT_EQ(print(kernel.statements[1].body, {"S", "value(j)", "value(i)"}),
            "select(max(f32(value(j)) - f32(value(i)), 0), -100, S)");
  EXPECT_EQ(kernel.statements[1].values.size(), 2U);
  EXPECT_TRUE(is_irregular(kernel.statements[0]));
}

void values_are_what_loops_compute(Every run) {
  for (const auto& [m, n] : {std::array{4, 6}, {1, 1}, {0, 3}, {3, 0}, {17, 33}}) {
    const Kernel kernel = kernel_of(masked(fmt::format("{{M: {}, N: {}}}", m, n)));
    std::vector<TensorData> data = interpreted(kernel);
    const TensorData &s = data_of(kernel, data, "S"), &p = data_of(kernel, data, "P"), &y = data_of(kernel, data, "Y"),
                     &l = data_of(kernel, data, "L");
    for (int i = 0; i < m; ++i) {
      EXPECT_EQ(number_at(l, i), 4);
      for (int j = 0; j < n; ++j) {
        EXPECT_EQ(number_at(p, i * n + j), 2 * i + j - 3);
        EXPECT_EQ(number_at(y, i * n + j), j > i ? -100 : number_at(s, i * n + j));
      }
    }
    if (!run.skips()) expect_right(kernel);
  }
}

TEST(Values, AreWhatLoopsCompute) { values_are_what_loops_compute(Every(2)); }
TEST(HeavyValues, AreWhatLoopsCompute) { values_are_what_loops_compute(Every(1)); }

TEST(Values, HaveIntegersOf32Bits) {
  EXPECT_EQ(
      problems_of("kernel: k\ntensors:\n  Y: {shape: [4], dtype: s64}\ncompute:\n  - Y[i] = value(1000000000*i)\n"),
      "k.yaml:5:5: kernel 'k': statement s0: value(1000000000*i) exceeds 32 bits\n"
      "      - Y[i] = value(1000000000*i)\n"
      "        ^\n");
  EXPECT_EQ(problems_of("kernel: k\ntensors:\n  Y: {shape: [4]}\ncompute:\n  - Y[i] = value(i)\n"),
            "k.yaml:5:5: a value of s32 is used where f32 is computed: that would lose values\n"
            "      - Y[i] = value(i)\n"
            "        ^\n"
            "  hint: write the cast, for example f32(...)\n");
}

TEST(Values, AreNotOfSteps) {
  EXPECT_EQ(problems_of("kernel: k\ntensors:\n  Y: {shape: [4, 3], dtype: s32}\ncompute:\n  - repeat: {t: 4}\n"
                        "    compute:\n      - Y[t,i] = value(t + i)\n"),
            "k.yaml:7:11: kernel 'k': statement s0 uses the value of t, which is repeated\n"
            "          - Y[t,i] = value(t + i)\n"
            "              ^\n"
            "  hint: read it from a tensor that a statement before the repeat writes: N[t] = value(t)\n");
}

// Reads at computed places --------------------------------------------------------------------------------------------

std::string gathered(const std::string& sizes, const std::string& type = "s32") {
  return "kernel: gathered\ndims: " + sizes + R"(
tensors:
  E: {shape: [V, D]}
  I: {shape: [B, T], dtype: )" +
         type + R"(}
  P: {shape: [T, D]}
  G: {shape: [B, T, D]}
  W: {shape: [D, 5]}
  Y: {shape: [B, T, 5]}
  S: {shape: [D]}
compute:
  - G[b,t,d] = E[at(I[b,t]),d] + P[t,d]
  - Y[b,t,j] += G[b,t,d] * W[d,j]
  - S[d] += E[at(I[0,q - 1] outside 2),d]
where: {q: T}
)";
}

TEST(Gathers, AreReadAndPrinted) {
  const Kernel kernel = kernel_of(gathered("{V: 4, D: 6, B: 2, T: 3}"));
  EXPECT_EQ(print(kernel.statements[0], kernel.tensors), "G[b,t,d] = E[at(I[b,t]),d] + P[t,d] over b: 2, t: 3, d: 6");
  EXPECT_EQ(kernel.statements[0].reads[1].computed, (ComputedIndex{0, 0}));
}

void gathers_are_what_loops_compute(Every run) {
  for (const char* type : {"s32", "s64", "u8"})
    for (const auto& [v, d, b, t] : {std::array{4, 6, 2, 3}, {1, 1, 1, 1}, {2, 5, 0, 2}, {2, 16, 3, 17}}) {
      const Kernel kernel = kernel_of(gathered(fmt::format("{{V: {}, D: {}, B: {}, T: {}}}", v, d, b, t), type));
      if (b == 0) {
        if (!run.skips()) expect_right(kernel);
        continue;
      }
      std::vector<TensorData> data = interpreted(kernel);
      const TensorData &e = data_of(kernel, data, "E"), &i = data_of(kernel, data, "I"),
                       &p = data_of(kernel, data, "P"), &g = data_of(kernel, data, "G"),
                       &s = data_of(kernel, data, "S");
      const auto row = [&](double index) { return std::clamp(static_cast<int>(index), 0, v - 1); };
      for (int at = 0; at < b * t; ++at)
        for (int c = 0; c < d; ++c)
          EXPECT_EQ(number_at(g, at * d + c),
                    number_at(e, row(number_at(i, at)) * d + c) + number_at(p, at % t * d + c));
      for (int c = 0; c < d; ++c) {
        double sum = 0;
        for (int q = 0; q < t; ++q) sum += number_at(e, row(q == 0 ? 2 : number_at(i, q - 1)) * d + c);
        EXPECT_EQ(number_at(s, c), sum);
      }
      if ((v == 4 || type[1] == '6') && !run.skips()) expect_right(kernel);  // each type, and each size
    }
}

TEST(Gathers, AreWhatLoopsCompute) { gathers_are_what_loops_compute(Every(2)); }
TEST(HeavyGathers, AreWhatLoopsCompute) { gathers_are_what_loops_compute(Every(1)); }

TEST(Gathers, OfAnotherAxisAndOfAGather) {
  const Kernel kernel = kernel_of(R"(kernel: twice
tensors:
  E: {shape: [3, 5, 4]}
  J: {shape: [4], dtype: s32}
  I: {shape: [7], dtype: s32}
  Y: {shape: [3, 7, 4]}
compute:
  - Y[a,i,c] = E[a,at(J[at(I[i])]),c] * 2
)");
  std::vector<TensorData> data = interpreted(kernel);
  const TensorData &e = data_of(kernel, data, "E"), &j = data_of(kernel, data, "J"), &i = data_of(kernel, data, "I"),
                   &y = data_of(kernel, data, "Y");
  for (int a = 0; a < 3; ++a)
    for (int at = 0; at < 7; ++at)
      for (int c = 0; c < 4; ++c) {
        const int first = std::clamp(static_cast<int>(number_at(i, at)), 0, 3),
                  second = std::clamp(static_cast<int>(number_at(j, first)), 0, 4);
        EXPECT_EQ(number_at(y, (a * 7 + at) * 4 + c), 2 * number_at(e, (a * 5 + second) * 4 + c));
      }
  expect_right(kernel);
}

std::string refused(const std::string& statement) {
  return problems_of(
      "kernel: k\ntensors:\n  E: {shape: [4, 4]}\n  I: {shape: [4], dtype: s32}\n  X: {shape: [4]}\n"
      "  Y: {shape: [4, 4]}\n  Z: {shape: [4]}\ncompute:\n  - " +
      statement + "\n  - Z[q] = X[q] + f32(I[q]) * E[q,q]\n");
}

TEST(Gathers, AreRefusedWithAPlace) {
  EXPECT_EQ(refused("Y[at(I[i]),d] = E[i,d]"),
            "k.yaml:9:5: statements write at subscripts of iterators, not at computed ones\n"
            "      - Y[at(I[i]),d] = E[i,d]\n"
            "        ^\n"
            "  hint: `at(...)` is of reads: turn the statement round, so that it gathers\n");
  EXPECT_EQ(refused("Y[i,d] = E[at(I[i]),at(I[d])]"),
            "k.yaml:9:25: one subscript of an access may be computed, found two\n"
            "      - Y[i,d] = E[at(I[i]),at(I[d])]\n"
            "                            ^\n");
  EXPECT_EQ(refused("Y[i,d] = E[at(X[i]),d]"),
            "k.yaml:9:16: kernel 'k': statement s0: 'X' is f32 and cannot be a subscript of 'E'\n"
            "      - Y[i,d] = E[at(X[i]),d]\n"
            "                   ^\n"
            "  hint: subscripts are integers: cast it in a statement before\n");
  EXPECT_EQ(refused("Y[i,d] = Y[at(I[i]),d] + E[i,d]").substr(0, 60),
            "k.yaml:9:16: kernel 'k': statement s0: reads 'Y', which it w");
}

TEST(Gathers, MapToNothingAndAreNotStaged) {
  const Kernel kernel = kernel_of(gathered("{V: 4, D: 16, B: 2, T: 3}"));
  const auto loaded = load_hardware("x86_avx512", {ISAMAP_SOURCE_DIR "/hardware_models"});
  ASSERT_TRUE(loaded);
  const auto mapped = enumerate_mappings(kernel, loaded->model, {});
  ASSERT_TRUE(mapped);
  for (const Mapping& mapping : mapped->mappings) EXPECT_EQ(mapping.statement.index(), 1U);
  bool said = false;
  for (const Rejection& one : mapped->rejected)
    for (const Reason& reason : one.reasons)
      said = said || reason.text == "the statement reads at a computed place, which no operand addresses";
  EXPECT_TRUE(said);
}

// The largest element and its place
// ------------------------------------------------------------------------------------

std::string placed(const std::string& operation, int m, int n, const std::string& type = "f32") {
  return fmt::format(R"k(kernel: placed
tensors:
  A: {{shape: [{1}, {2}], dtype: {3}}}
  V: {{shape: [{1}], dtype: {3}, output: true}}
  I: {{shape: [{1}], dtype: s64}}
compute:
  - "(V[i], I[i]) {0} (A[i,k], value(k))"
)k",
                     operation, m, n, type);
}

TEST(Places, AreTwoStatements) {
  const Kernel kernel = kernel_of(placed("max=", 3, 5));
  ASSERT_EQ(kernel.statements.size(), 2U);
  EXPECT_EQ(kernel.statements[1].name, "s0_index");
  EXPECT_EQ(print(kernel.statements[0], kernel.tensors), "V[i] max= A[i,k] over i: 3, k: 5");
  EXPECT_EQ(print(kernel.statements[1], kernel.tensors),
            "I[i] min= select(V[i] - A[i,k], 2147483647, s64(value(k))) over i: 3, k: 5");
}

void places_are_those_of_the_first_extreme(Every run) {
  for (const char* type : {"f32", "s8"})
    for (const char* operation : {"max=", "min="})
      for (const auto& [m, n] : {std::array{3, 5}, {1, 1}, {0, 4}, {17, 33}}) {
        const Kernel kernel = kernel_of(placed(operation, m, n, type));
        std::vector<TensorData> data = interpreted(kernel);
        const TensorData &a = data_of(kernel, data, "A"), &v = data_of(kernel, data, "V"),
                         &p = data_of(kernel, data, "I");
        for (int i = 0; i < m; ++i) {
          int best = 0;
          for (int k = 1; k < n; ++k) {
            const double one = number_at(a, i * n + k), other = number_at(a, i * n + best);
            if (operation[1] == 'a' ? one > other : one < other) best = k;
          }
          EXPECT_EQ(number_at(v, i), number_at(a, i * n + best));
          EXPECT_EQ(number_at(p, i), best);
        }
        if ((m == 17 || (type[0] == 'f' && operation[1] == 'a')) && !run.skips()) expect_right(kernel);
      }
}

TEST(Places, AreThoseOfTheFirstExtreme) { places_are_those_of_the_first_extreme(Every(3)); }
TEST(HeavyPlaces, AreThoseOfTheFirstExtreme) { places_are_those_of_the_first_extreme(Every(1)); }

TEST(Places, AreRefusedWithAPlace) {
  const auto refusal = [](const std::string& statement) {
    return problems_of(
        "kernel: k\ntensors:\n  A: {shape: [4, 4]}\n  V: {shape: [4]}\n  I: {shape: [4], dtype: s32}\n"
        "compute:\n  - \"" +
        statement + "\"\n");
  };
  EXPECT_EQ(refusal("(V[i], I[i]) += (A[i,k], value(k))"),
            "k.yaml:7:17: a value and its place are those of the largest or smallest element\n"
            "      - \"(V[i], I[i]) += (A[i,k], value(k))\"\n"
            "                    ^\n"
            "  hint: write (V[i], I[i]) max= (A[i,k], value(k))\n");
  EXPECT_EQ(refusal("(V[i], I[i]) max= (A[i,k]*2, value(k))"),
            "k.yaml:7:25: what is compared must be an element, not arithmetic\n"
            "      - \"(V[i], I[i]) max= (A[i,k]*2, value(k))\"\n"
            "                            ^\n"
            "  hint: write (V[i], I[i]) max= (A[i,k], value(k))\n");
  EXPECT_EQ(refusal("(V[i], I[i]) max= (B[i,k], value(k))").substr(0, 36), "k.yaml:7:25: no tensor is named 'B'\n");
}

}  // namespace
}  // namespace isamap
