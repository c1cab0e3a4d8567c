// SPDX-License-Identifier: Apache-2.0
// Quantised products become products of bytes; integer forms to the last bit.

#include "frontends/integer_products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontends/done_ahead.h"
#include "tests/frontends/model_with.h"
#include "tests/frontends/outputs_of.h"

namespace isamap {
namespace {

/// Names and values of constants; of "?" random ones.
using Constants = std::map<std::string, std::vector<double>>;

/// The values again and again until the tensor is full; random integers where there are none.
TensorData repeated(const Tensor& tensor, const std::vector<double>& values, Random& random) {
  TensorData data = make_data(tensor);
  for (std::int64_t i = 0; i < data.count(); ++i) {
    const double value = values.empty() ? static_cast<double>(random.between(-100, 100))
                                        : values[static_cast<std::size_t>(i) % values.size()];
    data.set(i, is_float(tensor.dtype) ? Scalar{round_to(tensor.dtype, value), 0}
                                       : Scalar{0, static_cast<std::int64_t>(value)});
  }
  return data;
}

Model quantised_model(const std::string& text, const Constants& constants) {
  Random random(11);
  return model_with(text, [&](const Tensor& tensor) -> std::optional<TensorData> {
    const auto values = constants.find(tensor.name);
    if (values == constants.end()) return std::nullopt;
    return repeated(tensor, values->second, random);
  });
}

std::vector<TensorData> results_of(const Model& model) {
  Random random(5);
  std::vector<TensorData> inputs;
  for (const TensorId id : model.inputs) {
    TensorData data = make_data(model.kernel.tensors[id.index()]);
    for (std::int64_t i = 0; i < data.count(); ++i)
      data.set(i, {static_cast<double>(random.between(-9, 9)),
                   random.between(integer_min(data.dtype), integer_max(data.dtype))});
    inputs.push_back(data);
  }
  return isamap::outputs_of(model, inputs);
}

/// What remains after constants are done ahead; its outputs must be those of the model.
std::string integers(
    const Model& model, bool strict = false, double tolerance = 0,
    const MultipliesBytes& multiplies = [](DType, DType) { return true; }) {
  const auto with = integer_products(model, strict, multiplies);
  EXPECT_TRUE(with) << render(with.diagnostics());
  AheadOptions options;
  options.strict_float = true;
  const auto less = with ? done_ahead(*with, options) : with;
  EXPECT_TRUE(less);
  if (!less) return "";
  const auto expected = results_of(model), found = results_of(*less);
  for (std::size_t o = 0; o < expected.size(); ++o)
    for (std::int64_t i = 0; i < expected[o].count(); ++i) {
      EXPECT_EQ(expected[o].get(i).integer, found[o].get(i).integer) << i;
      EXPECT_NEAR(expected[o].get(i).real, found[o].get(i).real, tolerance * (1 + std::fabs(expected[o].get(i).real)));
    }
  std::string text;
  for (const Computation& statement : less->kernel.statements)
    text += print_formula(statement, less->kernel.tensors) + "\n";
  return text;
}

const std::string matmul = R"(kernel matmul
tensor A: u8[5,7]
tensor z: u8[]
tensor W: u8[7,6]
tensor w: u8[]
tensor T: s32[5,6]
s0: T[i,j] += (s32(A[i,k]) - s32(z[])) * (s32(W[k,j]) - s32(w[])) over i: 5, j: 6, k: 7
)";

TEST(IntegerProducts, ZeroPointsLeaveTheSum) {
  const Constants fit = {{"W", {3, 250, 130, 128, 5}}, {"w", {128}}, {"z", {7}}};
  EXPECT_EQ(integers(quantised_model(matmul, fit), true),
            "T_sum[i,j] += s32(A[i,k]) * s32(W_centred[k,j])\nT[i,j] = T_sum[i,j] - T_constant[j]\n");
  Constants runtime = fit;
  runtime.erase("z");
  EXPECT_EQ(integers(quantised_model(matmul, runtime), true),
            "T_sum[i,j] += s32(A[i,k]) * s32(W_centred[k,j])\n"
            "T[i,j] = T_sum[i,j] - s32(z[]) * W_centred_sums[j]\n");
}

TEST(IntegerProducts, WeightsThatNeedNineBitsKeepTheirZeroPoint) {
  const Model model = quantised_model(matmul, {{"W", {3, 250}}, {"w", {5}}, {"z", {7}}});
  EXPECT_EQ(integers(model, true),
            "A_sums[i] += s32(A[i,k]) - s32(z[])\n"
            "T_sum[i,j] += s32(A[i,k]) * s32(W[k,j])\n"
            "T[i,j] = T_sum[i,j] - T_constant[j] - s32(w[]) * A_sums[i]\n");
}

TEST(IntegerProducts, SumsOfConstantsLeaveTheirRecurrence) {
  const std::string recurrence = R"(kernel recurrence
tensor H: f32[4,1,7] inout output
tensor z: u8[3]
tensor B: u8[3,1,7]
tensor W: s8[7,7]
tensor w: s8[]
tensor T: s32[3,7,1]
repeat t: 3 of 3 statements
s0: B[t,b,k] = sat_u8(round(H[t,b,k]) + f32(z[t])) over t: 3, b: 1, k: 7
s1: T[t,j,b] += (s32(B[t,b,k]) - s32(z[t])) * (s32(W[k,j]) - s32(w[])) over t: 3, b: 1, j: 7, k: 7
s2: H[t + 1,b,j] = f32(T[t,j,b]) over t: 3, b: 1, j: 7
)";
  const Model model = quantised_model(recurrence, {{"W", {3, -2, 1}}, {"w", {1}}});
  EXPECT_EQ(integers(model, true),
            "B[t,b,k] = sat_u8(round(H[t,b,k]) + f32(z[t]))\n"
            "T_sum[t,b,j] += s32(B[t,b,k]) * s32(W_centred[k,j])\n"
            "T[t,j,b] = T_sum[t,b,j] - s32(z[t]) * W_centred_sums[j]\n"
            "H[t + 1,b,j] = f32(T[t,j,b])\n");
  const auto made = integer_products(model);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->kernel.repeats.size(), 1u);
  EXPECT_EQ(made->kernel.repeats[0].first, 2u);
  EXPECT_EQ(made->kernel.repeats[0].count, 4u);
}

/// Of these two types and no others.
MultipliesBytes only(DType x, DType y) {
  return [=](DType a, DType b) { return (a == x && b == y) || (a == y && b == x); };
}

TEST(IntegerProducts, ZeroPointsOfTwoComputedOperands) {
  const Model model = quantised_model(matmul, {{"z", {7}}});
  EXPECT_EQ(integers(model, true),
            "W_sums[j] += s32(W[k,j])\n"
            "A_sums[i] += s32(A[i,k]) - s32(z[])\n"
            "T_sum[i,j] += s32(A[i,k]) * s32(W[k,j])\n"
            "T[i,j] = T_sum[i,j] - s32(z[]) * W_sums[j] - s32(w[]) * A_sums[i]\n");
}

TEST(IntegerProducts, OneZeroPointOfBothOperands) {
  const std::string shared = R"(kernel matmul
tensor A: u8[5,7]
tensor z: u8[]
tensor W: u8[7,6]
tensor T: s32[5,6]
s0: T[i,j] += (s32(A[i,k]) - s32(z[])) * (s32(W[k,j]) - s32(z[])) over i: 5, j: 6, k: 7
)";
  EXPECT_EQ(integers(quantised_model(shared, {}), true),
            "W_sums[j] += s32(W[k,j])\n"
            "A_sums[i] += s32(A[i,k]) - s32(z[])\n"
            "T_sum[i,j] += s32(A[i,k]) * s32(W[k,j])\n"
            "T[i,j] = T_sum[i,j] - s32(z[]) * W_sums[j] - s32(z[]) * A_sums[i]\n");
  const std::string square = R"(kernel norms
tensor A: u8[5,7]
tensor z: u8[]
tensor T: s32[5]
s0: T[i] += (s32(A[i,k]) - s32(z[])) * (s32(A[i,k]) - s32(z[])) over i: 5, k: 7
)";
  EXPECT_EQ(integers(quantised_model(square, {{"z", {7}}}), true),
            "A_sums[i] += s32(A[i,k])\n"
            "A_sums_1[i] += s32(A[i,k]) - s32(z[])\n"
            "T_sum[i] += s32(A[i,k]) * s32(A[i,k])\n"
            "T[i] = T_sum[i] - s32(z[]) * A_sums[i] - s32(z[]) * A_sums_1[i]\n");
}

TEST(IntegerProducts, ConstantsAreTurnedWhereThatCostsNothing) {
  // Larger activations than weights, and weights whose zero point fits: sums of weights are computed ahead.
  const std::string wide = R"(kernel wide
tensor A: s8[50,7]
tensor W: u8[7,2]
tensor w: u8[]
tensor T: s32[50,2]
s0: T[i,j] += s32(A[i,k]) * (s32(W[k,j]) - s32(w[])) over i: 50, j: 2, k: 7
)";
  EXPECT_EQ(integers(quantised_model(wide, {{"W", {3, 250, 130}}, {"w", {128}}}), true, 0, only(DType::u8, DType::s8)),
            "A_other_sign[i0,i1] = u8(s32(A[i0,i1]) + 128)\n"
            "T_sum[i,j] += s32(A_other_sign[i,k]) * s32(W_centred[k,j])\n"
            "T[i,j] = T_sum[i,j] - T_constant[j]\n");
  // Weights that keep their zero point take the sums of the rows anyway.
  const Model kept = quantised_model(matmul, {{"W", {3, 250}}, {"w", {5}}, {"z", {0}}});
  EXPECT_EQ(integers(kept, true, 0, only(DType::u8, DType::s8)),
            "A_sums[i] += s32(A[i,k])\n"
            "T_sum[i,j] += s32(A[i,k]) * s32(W_other_sign[k,j])\n"
            "T[i,j] = T_sum[i,j] - T_constant[] * A_sums[i]\n");
}

TEST(IntegerProducts, OtherSignsWhereTheMachineHasNoProductOfTheseBytes) {
  const Model computed = quantised_model(matmul, {{"z", {7}}, {"w", {0}}});
  EXPECT_EQ(integers(computed, true, 0, only(DType::u8, DType::s8)),
            "A_other_sign[i0,i1] = s8(s32(A[i0,i1]) - 128)\n"
            "W_sums[j] += s32(W[k,j])\n"
            "T_sum[i,j] += s32(A_other_sign[i,k]) * s32(W[k,j])\n"
            "T[i,j] = T_sum[i,j] - T_constant[] * W_sums[j]\n");
  const Model constant = quantised_model(matmul, {{"W", {3, 250, 130}}, {"w", {128}}, {"z", {7}}});
  EXPECT_EQ(integers(constant, true, 0, only(DType::s8, DType::s8)),
            "A_other_sign[i0,i1] = s8(s32(A[i0,i1]) - 128)\n"
            "T_sum[i,j] += s32(A_other_sign[i,k]) * s32(W_centred[k,j])\n"
            "T[i,j] = T_sum[i,j] - T_constant[j]\n");
  EXPECT_EQ(integers(computed, true, 0, only(DType::u8, DType::u8)), integers(computed, true));
  EXPECT_EQ(integers(computed, true, 0, only(DType::f32, DType::f32)),
            "T[i,j] += (s32(A[i,k]) - s32(z[])) * (s32(W[k,j]) - s32(w[]))\n");
}

TEST(IntegerProducts, BothWithOtherSigns) {
  const Model model = quantised_model(matmul, {{"z", {7}}, {"w", {9}}});
  EXPECT_EQ(integers(model, true, 0, only(DType::s8, DType::s8)),
            "A_other_sign[i0,i1] = s8(s32(A[i0,i1]) - 128)\n"
            "W_other_sign[i0,i1] = s8(s32(W[i0,i1]) - 128)\n"
            "W_other_sign_sums[j] += s32(W_other_sign[k,j])\n"
            "A_other_sign_sums[i] += s32(A_other_sign[i,k]) - (s32(z[]) - 128)\n"
            "T_sum[i,j] += s32(A_other_sign[i,k]) * s32(W_other_sign[k,j])\n"
            "T[i,j] = T_sum[i,j] - T_constant[] * W_other_sign_sums[j] - T_constant_1[] * A_other_sign_sums[i]\n");
}

TEST(IntegerProducts, AnOtherSignIsMadeOnce) {
  const Model model = quantised_model(R"(kernel twice
tensor A: u8[1,7] outside 3
tensor W: s8[3,2]
tensor V: s8[3,4]
tensor T: s32[9,2]
tensor U: s32[9,4]
s0: T[i,j] += s32(A[0,i + k - 1]) * s32(W[k,j]) over i: 9, j: 2, k: 3
s1: U[i,j] += s32(A[0,i + k - 1]) * s32(V[k,j]) over i: 9, j: 4, k: 3
)",
                                      {{"W", {}}, {"V", {}}});
  EXPECT_EQ(integers(model, true, 0, only(DType::s8, DType::s8)),
            "A_other_sign[i0,i1] = s8(s32(A[i0,i1]) - 128)\n"
            "T_sum[i,j] += s32(A_other_sign[0,i + k - 1] outside -125) * s32(W[k,j])\n"
            "T[i,j] = T_sum[i,j] - T_constant[j]\n"
            "U_sum[i,j] += s32(A_other_sign[0,i + k - 1] outside -125) * s32(V[k,j])\n"
            "U[i,j] = U_sum[i,j] - U_constant[j]\n");
}

TEST(IntegerProducts, PaddingWithTheZeroPoint) {
  const Model model = quantised_model(R"(kernel conv
tensor X: u8[1,2,6] outside 9
tensor z: u8[]
tensor W: s8[3,2,3]
tensor T: s32[1,3,6]
s0: T[n,k,p] += (s32(X[n,c,p + r - 1]) - s32(z[])) * s32(W[k,c,r]) over n: 1, k: 3, p: 6, c: 2, r: 3
)",
                                      {{"W", {}}, {"z", {9}}});
  EXPECT_EQ(integers(model, true),
            "T_sum[n,k,p] += s32(X[n,c,p + r - 1]) * s32(W[k,c,r])\nT[n,k,p] = T_sum[n,k,p] - T_constant[k]\n");
}

const std::string dequantised_product = R"(kernel qdq
tensor Q: u8[1,2,6]
tensor s: f32[]
tensor z: u8[]
tensor V: s8[3,2,3]
tensor t: f32[3]
tensor A: f32[1,2,6]
tensor B: f32[3,2,3]
tensor Y: f32[1,3,6]
s0: A[n,c,i] = f32(s32(Q[n,c,i]) - s32(z[])) * s[] over n: 1, c: 2, i: 6
s1: B[k,c,r] = f32(V[k,c,r]) * t[k] over k: 3, c: 2, r: 3
s2: Y[n,k,p] += A[n,c,p + r - 1] outside 0 * B[k,c,r] over n: 1, k: 3, p: 6, c: 2, r: 3
)";

TEST(IntegerProducts, DequantisedOperandsAreBytes) {
  const Model model =
      quantised_model(dequantised_product, {{"s", {0.25}}, {"z", {100}}, {"V", {}}, {"t", {0.5, 0.125, 0.3}}});
  EXPECT_EQ(integers(model, false, 1e-5),
            "Y_sum_sum[n,k,p] += s32(Q[n,c,p + r - 1] outside 100) * s32(V[k,c,r])\n"
            "Y_sum[n,k,p] = Y_sum_sum[n,k,p] - Y_sum_constant[k]\n"
            "Y[n,k,p] = f32(Y_sum[n,k,p]) * Y_constant[k]\n");
}

TEST(IntegerProducts, StrictFloatKeepsSumsOfFloats) {
  const Model model =
      quantised_model(dequantised_product, {{"s", {0.25}}, {"z", {100}}, {"V", {}}, {"t", {0.5, 0.125, 0.3}}});
  EXPECT_EQ(integers(model, true),
            "A[n,c,i] = f32(s32(Q[n,c,i]) - s32(z[])) * s[]\n"
            "Y[n,k,p] += A[n,c,p + r - 1] outside 0 * B[k,c,r]\n");
}

TEST(IntegerProducts, ProductsOfFloatsWhereTheMachineHasNoneOfBytes) {
  const Model model =
      quantised_model(dequantised_product, {{"s", {0.25}}, {"z", {100}}, {"V", {}}, {"t", {0.5, 0.125, 0.3}}});
  EXPECT_EQ(integers(model, false, 1e-5, only(DType::s16, DType::s16)),
            "A[n,c,i] = f32(s32(Q[n,c,i]) - s32(z[])) * s[]\n"
            "Y[n,k,p] += A[n,c,p + r - 1] outside 0 * B[k,c,r]\n");
}

}  // namespace
}  // namespace isamap
