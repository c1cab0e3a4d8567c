// SPDX-License-Identifier: Apache-2.0
// Intermediates of 16 bits in f32: what remains is stated, computes what the file says with fewer roundings, and does
// not touch what callers and recurrences have.

#include "frontends/f32_intermediates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/frontends/model_with.h"
#include "tests/frontends/outputs_of.h"

namespace isamap {
namespace {

std::string in_type(std::string text, const std::string& type) {
  for (std::size_t at = 0; (at = text.find("HALF", at)) != std::string::npos;) text.replace(at, 4, type);
  return text;
}

Model model_in(const std::string& text, const std::string& type) {
  return model_with(in_type(text, type), [](const Tensor&) { return std::nullopt; });
}

bool all(const Tensor&) { return true; }

std::string lines_of(const Kernel& kernel) {
  std::string lines;
  for (const Computation& statement : kernel.statements)
    lines += std::string(name(kernel.tensors[statement.write.tensor.index()].dtype)) + " " +
             print_formula(statement, kernel.tensors) + "\n";
  return lines;
}

/// Over all elements of the outputs, against the same text in f64.
double largest_error(const std::vector<TensorData>& outputs, const std::vector<TensorData>& exact) {
  double largest = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    for (std::int64_t i = 0; i < outputs[o].count(); ++i)
      largest = std::max(largest, std::abs(outputs[o].get(i).real - exact[o].get(i).real));
  return largest;
}

const char* const chain = R"(kernel chain
tensor A: HALF[8,16]
tensor W: HALF[16,7]
tensor b: HALF[7]
tensor T: f32[8,7]
tensor Y: HALF[8,7] outside 0
tensor M: HALF[8,7]
tensor S: HALF[8,7]
tensor Z: HALF[8,7]
product: T[i,j] += f32(A[i,k]) * f32(W[k,j]) over i: 8, j: 7, k: 16
bias: Y[i,j] = max(HALF(T[i,j]) + b[j], 0) over i: 8, j: 7
pool: M[i,j] max= Y[i + r - 1,j] over i: 8, j: 7, r: 3
scale: S[i,j] = select(M[i,j] < 1, M[i,j] * 0.5, exp(-M[i,j])) over i: 8, j: 7
add: Z[i,j] = S[i,j] + A[i,j] over i: 8, j: 7
)";

TEST(F32Intermediates, OperatorsBetweenInputAndOutputRoundOnce) {
  for (const std::string type : {"f16", "bf16"}) {
    const Model model = model_in(chain, type), wide = f32_intermediates(model, all);
    EXPECT_TRUE(has_half_intermediates(model));
    EXPECT_FALSE(has_half_intermediates(wide));
    EXPECT_EQ(lines_of(wide.kernel), in_type("f32 T[i,j] += f32(A[i,k]) * f32(W[k,j])\n"
                                             "f32 Y[i,j] = max(T[i,j] + f32(b[j]), 0)\n"
                                             "f32 M[i,j] max= Y[i + r - 1,j]\n"
                                             "f32 S[i,j] = select(M[i,j] < 1, M[i,j] * 0.5, exp(-M[i,j]))\n"
                                             "HALF Z[i,j] = HALF(S[i,j] + f32(A[i,j]))\n",
                                             type));
    const std::vector<TensorData> inputs = random_inputs(model, 3), wide_outputs = outputs_of(wide, inputs);
    Model exact = wide;
    exact = model_in(chain, "f64");
    std::vector<TensorData> doubles;
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      doubles.push_back(make_data(exact.kernel.tensors[exact.inputs[n].index()]));
      for (std::int64_t i = 0; i < inputs[n].count(); ++i) doubles[n].set(i, inputs[n].get(i));
    }
    const std::vector<TensorData> reference = outputs_of(exact, doubles);
    const double unit = type == "f16" ? 0x1p-11 : 0x1p-8;
    double most = 0;
    for (std::int64_t i = 0; i < reference[0].count(); ++i) most = std::max(most, std::abs(reference[0].get(i).real));
    EXPECT_LE(largest_error(wide_outputs, reference), 1.01 * unit * most) << "one rounding";
    EXPECT_GT(largest_error(outputs_of(model, inputs), reference), largest_error(wide_outputs, reference));
  }
}

/// Y stays: it is rounded where it is written, and widened where it is read.
TEST(F32Intermediates, OnlyThoseThatAreWanted) {
  const Model model = model_in(chain, "f16");
  const Model wide = f32_intermediates(model, [](const Tensor& tensor) { return tensor.name != "Y"; });
  EXPECT_EQ(lines_of(wide.kernel),
            "f32 T[i,j] += f32(A[i,k]) * f32(W[k,j])\n"
            "f16 Y[i,j] = f16(max(T[i,j] + f32(b[j]), 0))\n"
            "f32 M[i,j] max= f32(Y[i + r - 1,j])\n"
            "f32 S[i,j] = select(M[i,j] < 1, M[i,j] * 0.5, exp(-M[i,j]))\n"
            "f16 Z[i,j] = f16(S[i,j] + f32(A[i,j]))\n");
  outputs_of(wide, random_inputs(model, 3));  // it is a legal kernel
}

TEST(F32Intermediates, MovesAndWholeNumbersKeepTheirTypes) {
  const Model model = model_in(R"(kernel moves
tensor X: f16[4,6]
tensor R: f16[4,6]
tensor N: s32[4,6]
tensor Y: f16[6,4]
round: R[i,j] = X[i,j] * 3 over i: 4, j: 6
count: N[i,j] = s32(R[i,j]) over i: 4, j: 6
move: Y[j,i] = X[i,j] over i: 4, j: 6
)",
                               "f16");
  const Model wide = f32_intermediates(model, all);
  EXPECT_EQ(lines_of(wide.kernel),
            "f32 R[i,j] = f32(X[i,j]) * 3\n"
            "s32 N[i,j] = s32(R[i,j])\n"
            "f16 Y[j,i] = X[i,j]\n");
  outputs_of(wide, random_inputs(model, 3));
}

/// y is what rounding x takes away: the file says so.
TEST(F32Intermediates, CastsOfTheFileRound) {
  Model model = model_in(R"(kernel casts
tensor X: f32[4,6]
tensor R: f16[4,6]
tensor S: f16[4,6]
tensor Y: f32[4,6]
cast: R[i,j] = f16(X[i,j]) over i: 4, j: 6
scale: S[i,j] = R[i,j] * 2 over i: 4, j: 6
rest: Y[i,j] = X[i,j] - f32(R[i,j]) + f32(S[i,j]) over i: 4, j: 6
)",
                         "f16");
  const std::string tail = "f32 S[i,j] = f32(R[i,j]) * 2\nf32 Y[i,j] = X[i,j] - f32(R[i,j]) + S[i,j]\n";
  model.origins.resize(3);
  model.origins[0].op = "Cast";
  EXPECT_EQ(lines_of(f32_intermediates(model, all).kernel), "f16 R[i,j] = f16(X[i,j])\n" + tail);
  model.origins[0].op = "MatMul";
  EXPECT_EQ(lines_of(f32_intermediates(model, all).kernel),
            "f32 R[i,j] = X[i,j]\nf32 S[i,j] = R[i,j] * 2\nf32 Y[i,j] = X[i,j] - R[i,j] + S[i,j]\n");
}

/// What a step leaves for the next one, and what the steps read.
TEST(F32Intermediates, RecurrencesStayAsTheyAre) {
  const Model model = model_in(R"(kernel steps
tensor X: f16[5,3]
tensor P: f16[5,3]
tensor H: f16[6,3] inout
tensor Y: f16[5,3]
twice: P[t,i] = X[t,i] + X[t,i] over t: 5, i: 3
repeat t: 5 of 1 statements
step: H[t + 1,i] = H[t,i] * 0.5 + P[t,i] over t: 5, i: 3
read: Y[t,i] = H[t + 1,i] * 2 over t: 5, i: 3
)",
                               "f16");
  const Model wide = f32_intermediates(model, all);
  for (const Tensor& tensor : wide.kernel.tensors) EXPECT_EQ(tensor.dtype, DType::f16) << tensor.name;
}

}  // namespace
}  // namespace isamap
