// SPDX-License-Identifier: Apache-2.0
// Constants done ahead: what remains is stated, and computes what the whole model did.

#include "frontends/done_ahead.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/frontends/model_with.h"
#include "tests/frontends/outputs_of.h"

namespace isamap {
namespace {

/// A model of these lines whose tensors in `constants` have values that differ.
Model model_of(const std::string& text, const std::vector<std::string>& constants) {
  Random random(7);
  return model_with(text, [&](const Tensor& tensor) -> std::optional<TensorData> {
    if (std::find(constants.begin(), constants.end(), tensor.name) == constants.end()) return std::nullopt;
    return random_data(tensor, Fill::real, random);
  });
}

std::string formulas(const Model& model) {
  std::string text;
  for (const Computation& statement : model.kernel.statements)
    text += print_formula(statement, model.kernel.tensors) + "\n";
  return text;
}

std::vector<TensorData> outputs_of(const Model& model) { return isamap::outputs_of(model, random_inputs(model, 3)); }

/// What remains of the model, which must compute the same: to the last bit if strict.
std::string ahead(const Model& model, bool strict = false) {
  AheadOptions options;
  options.strict_float = strict;
  const auto less = done_ahead(model, options);
  EXPECT_TRUE(less) << render(less.diagnostics());
  if (!less) return "";
  EXPECT_EQ(less->origins.size(), less->kernel.statements.size());
  const auto expected = outputs_of(model), found = outputs_of(*less);
  EXPECT_EQ(expected.size(), found.size());
  for (std::size_t o = 0; o < std::min(expected.size(), found.size()); ++o) {
    EXPECT_TRUE(!strict || expected[o] == found[o]);
    for (std::int64_t i = 0; i < expected[o].count(); ++i)
      EXPECT_NEAR(expected[o].get(i).real, found[o].get(i).real, 1e-5 * (1 + std::fabs(expected[o].get(i).real))) << i;
  }
  return formulas(*less);
}

const std::string norm = R"(kernel norm
tensor X: f32[1,4,6,6]
tensor W: f32[8,4,3,3]
tensor b: f32[8]
tensor s: f32[8]
tensor v: f32[8]
tensor m: f32[8]
tensor T: f32[1,8,4,4]
tensor U: f32[1,8,4,4]
tensor F: f32[8]
tensor B: f32[8]
tensor Y: f32[1,8,4,4]
s0: T[n,k,p,q] += X[n,c,p + r,q + s] * W[k,c,r,s] over n: 1, k: 8, p: 4, q: 4, c: 4, r: 3, s: 3
s1: U[n,k,p,q] = T[n,k,p,q] + b[k] over n: 1, k: 8, p: 4, q: 4
s2: F[c] = s[c] * rsqrt(v[c] * v[c] + 1) over c: 8
s3: B[c] = s[c] - m[c] * F[c] over c: 8
s4: Y[i,j,k,l] = U[i,j,k,l] * F[j] + B[j] over i: 1, j: 8, k: 4, l: 4
)";

TEST(DoneAhead, ANormBecomesAFactorOfTheWeights) {
  const Model model = model_of(norm, {"W", "b", "s", "v", "m"});
  EXPECT_EQ(ahead(model),
            "T[n,k,p,q] += X[n,c,p + r,q + s] * W_scaled[k,c,r,s]\n"
            "Y[i,j,k,l] = T[i,j,k,l] + Y_constant[j]\n");
}

/// The model with 1e-41 as the first value of a weight.
Model with_subnormal(Model model, const std::string& name) {
  for (Weight& weight : model.weights) {
    if (model.kernel.tensors[weight.tensor.index()].name != name) continue;
    TensorData values = *weight.values;
    values.set(0, {1e-41, 0});
    weight.values = std::make_shared<TensorData>(std::move(values));
  }
  return model;
}

TEST(DoneAhead, FactorsBelowTheLeastNormalNumberAreZero) {
  const std::string text = R"(kernel small
tensor X: f32[2,4]
tensor W: f32[3,4]
tensor b: f32[3]
tensor T: f32[2,3]
tensor Y: f32[2,3]
s0: T[i,k] += X[i,c] * W[k,c] over i: 2, k: 3, c: 4
s1: Y[i,k] = log(abs(T[i,k]) + b[k]) over i: 2, k: 3
)";
  const auto first_of = [&](const std::string& name, bool strict) {
    AheadOptions options;
    options.strict_float = strict;
    const auto less = done_ahead(with_subnormal(model_of(text, {"W", "b"}), name), options);
    EXPECT_TRUE(less) << render(less.diagnostics());
    EXPECT_EQ(less->notes.size(), name == "W" && !strict ? 1U : 0U);
    for (const Weight& weight : less->weights)
      if (less->kernel.tensors[weight.tensor.index()].name == name) return weight.values->get(0).real;
    return -1.0;
  };
  EXPECT_EQ(first_of("W", false), 0);
  EXPECT_GT(first_of("W", true), 0);
  EXPECT_GT(first_of("b", false), 0) << "a sum with it may be a logarithm's argument";
}

/// -64 to 64 of s8 and 0 to 127 of u8: two products of such a byte and any other one are no more than 16 bits.
TEST(DoneAhead, BytesOfSevenBitsStateTheirRange) {
  const auto range_of = [](const std::string& type, std::int64_t value) {
    Model model = model_of("kernel bytes\ntensor X: u8[2,4]\ntensor W: " + type +
                               "[4]\ntensor T: s32[2]\ns0: T[i] += s32(X[i,c]) * s32(W[c]) over i: 2, c: 4\n",
                           {"W"});
    TensorData values = make_data(model.kernel.tensors[model.weights[0].tensor.index()]);
    for (std::int64_t i = 0; i < 4; ++i) values.set(i, {0, i == 2 ? value : 1});
    model.weights[0].values = std::make_shared<TensorData>(std::move(values));
    const auto less = done_ahead(model);
    EXPECT_TRUE(less) << render(less.diagnostics());
    return less->kernel.tensors[less->weights[0].tensor.index()].range;
  };
  using Range = std::pair<double, double>;
  EXPECT_EQ(range_of("s8", -64), (Range{-64, 64}));
  EXPECT_EQ(range_of("s8", 65), std::nullopt);
  EXPECT_EQ(range_of("u8", 127), (Range{0, 127}));
  EXPECT_EQ(range_of("u8", 128), std::nullopt);
}

TEST(DoneAhead, StrictFloatKeepsEveryRounding) {
  const Model model = model_of(norm, {"W", "b", "s", "v", "m"});
  EXPECT_EQ(ahead(model, true),
            "T[n,k,p,q] += X[n,c,p + r,q + s] * W[k,c,r,s]\n"
            "U[n,k,p,q] = T[n,k,p,q] + b[k]\n"
            "Y[i,j,k,l] = U[i,j,k,l] * F[j] + B[j]\n");
}

TEST(DoneAhead, WhatIsNoConstantStays) {
  const Model model = model_of(norm, {"W", "s", "v"});  // m and b are inputs
  EXPECT_EQ(ahead(model),
            "T[n,k,p,q] += X[n,c,p + r,q + s] * W[k,c,r,s]\n"
            "U[n,k,p,q] = T[n,k,p,q] + b[k]\n"
            "B[c] = s[c] - m[c] * F[c]\n"
            "Y[i,j,k,l] = U[i,j,k,l] * F[j] + B[j]\n");
}

TEST(DoneAhead, ASumWithTwoReadersKeepsItsWeights) {
  const Model model = model_of(R"(kernel two
tensor X: f32[5,4]
tensor W: f32[4,3]
tensor f: f32[3]
tensor T: f32[5,3]
tensor Y: f32[5,3]
tensor Z: f32[5,3]
s0: T[i,j] += X[i,k] * W[k,j] over i: 5, j: 3, k: 4
s1: Y[i,j] = T[i,j] * f[j] over i: 5, j: 3
s2: Z[i,j] = T[i,j] + f[j] over i: 5, j: 3
)",
                               {"W", "f"});
  EXPECT_EQ(ahead(model), formulas(model));
}

TEST(DoneAhead, ChannelsOfGroupsAndScalarsScaleWeights) {
  const Model model = model_of(R"(kernel grouped
tensor X: f32[2,6]
tensor W: f32[4,3]
tensor f: f32[4]
tensor c: f32[]
tensor T: f32[2,4]
tensor U: f32[2,4]
tensor Y: f32[2,4]
s0: T[n,2*g + k] += X[n,3*g + j] * W[2*g + k,j] over n: 2, g: 2, k: 2, j: 3
s1: U[n,i] = T[n,i] * f[i] over n: 2, i: 4
s2: Y[n,i] = -U[n,i] / c[] over n: 2, i: 4
)",
                               {"W", "f", "c"});
  EXPECT_EQ(ahead(model), "Y[n,2*g + k] += X[n,3*g + j] * W_scaled[g,k,j]\n");
}

TEST(DoneAhead, AFactorAlongARowStaysBehindTheSum) {
  const Model model = model_of(R"(kernel row
tensor X: f32[5,4]
tensor W: f32[4,3]
tensor f: f32[5]
tensor T: f32[5,3]
tensor Y: f32[5,3]
s0: T[i,j] += X[i,k] * W[k,j] over i: 5, j: 3, k: 4
s1: Y[i,j] = T[i,j] * sqrt(abs(f[i])) over i: 5, j: 3
)",
                               {"W", "f"});
  EXPECT_EQ(ahead(model), "T[i,j] += X[i,k] * W[k,j]\nY[i,j] = T[i,j] * Y_constant[i]\n");
}

/// A mask of a sequence, 1 where it has tokens, and a bias of positions: T5.
Model masked(const std::string& lowest, double bias) {
  return model_with(
      "kernel masked\ntensor M: f32[6]\ntensor U: f32[6]\ntensor V: f32[6]\ntensor b: f32[6]\ntensor Y: f32[6]\n"
      "s0: U[i] = 1 - M[i] over i: 6\ns1: V[i] = U[i] * " +
          lowest + " over i: 6\ns2: Y[i] = V[i] + b[i] over i: 6\n",
      [&](const Tensor& tensor) -> std::optional<TensorData> {
        if (tensor.name != "b") return std::nullopt;
        TensorData values = make_data(tensor);
        for (std::int64_t i = 0; i < 6; ++i) values.set(i, {bias * (i + 1), 0});
        return values;
      });
}

TEST(DoneAhead, ABiasBehindAMaskKeepsItsDigits) {
  for (const char* lowest : {"-3.4028234663852886e+38", "-1e9", "-10000"}) {
    const Model model = masked(lowest, 0.1);
    const auto less = done_ahead(model);
    ASSERT_TRUE(less) << render(less.diagnostics());
    TensorData mask = make_data(model.kernel.tensors[0]);
    for (std::int64_t i = 0; i < 6; ++i) mask.set(i, {i < 4 ? 1.0 : 0.0, 0});
    EXPECT_EQ(outputs_of(model, {mask}), outputs_of(*less, {mask})) << lowest << "\n" << formulas(*less);
  }
  EXPECT_EQ(ahead(masked("-100", 0.1)), "Y[i] = M[i] * 100 + Y_constant[i]\n");
  EXPECT_EQ(ahead(masked("-3e8", 0)), "Y[i] = M[i] * 3e+08 + Y_constant[i]\n") << "nothing is lost of zeros";
}

TEST(DoneAhead, FactorsThatLeaveTheTypeStayApart) {
  for (const char* factor : {"1e30", "1e-30"}) {
    const Model model =
        model_of(std::string("kernel twice\ntensor X: f32[3]\ntensor U: f32[3]\ntensor Y: f32[3]\n") +
                     "s0: U[i] = X[i] * " + factor + " over i: 3\ns1: Y[i] = U[i] * " + factor + " over i: 3\n",
                 {});
    const auto less = done_ahead(model);
    ASSERT_TRUE(less) << render(less.diagnostics());
    EXPECT_EQ(formulas(*less), formulas(model));
    const TensorData zero = make_data(model.kernel.tensors[0]);
    EXPECT_EQ(isamap::outputs_of(*less, {zero})[0].get(0).real, 0) << "not that of 0 and an infinite factor";
  }
}

TEST(DoneAhead, DequantisedWeightsAreWeights) {
  const Model model = model_of(R"(kernel dequantised
tensor X: f32[5,4]
tensor Q: s8[4,3]
tensor s: f32[3]
tensor W: f32[4,3]
tensor Y: f32[5,3]
s0: W[k,j] = f32(s32(Q[k,j]) - 3) * s[j] over k: 4, j: 3
s1: Y[i,j] += X[i,k] * W[k,j] over i: 5, j: 3, k: 4
)",
                               {"Q", "s"});
  EXPECT_EQ(ahead(model, true), "Y[i,j] += X[i,k] * W[k,j]\n");
}

TEST(DoneAhead, WhatNobodyReadsIsDropped) {
  Model model = model_of(R"(kernel dead
tensor X: f32[5]
tensor M: f32[5]
tensor N: f32[5]
tensor Y: f32[5]
s0: M[i] = 1 over i: 5
s1: N[i] = M[i] + X[i] over i: 5
s2: Y[i] = X[i] * X[i] over i: 5
)",
                         {});
  std::erase_if(model.outputs, [&](TensorId id) { return model.kernel.tensors[id.index()].name == "N"; });
  EXPECT_EQ(ahead(model), "Y[i] = X[i] * X[i]\n");
}

TEST(DoneAhead, OutputsAndLargeResultsStayStatements) {
  const Model model = model_of(R"(kernel large
tensor a: f32[520]
tensor b: f32[520]
tensor X: f32[520]
tensor M: f32[520,520]
tensor C: f32[520]
tensor Y: f32[520]
s0: M[i,j] = a[i] * b[j] over i: 520, j: 520
s1: Y[i] += M[i,j] * X[j] over i: 520, j: 520
s2: C[i] = a[i] + b[i] over i: 520
)",
                               {"a", "b"});
  EXPECT_EQ(ahead(model), formulas(model));
}

}  // namespace
}  // namespace isamap
