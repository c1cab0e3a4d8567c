// SPDX-License-Identifier: Apache-2.0
// Operands of few bits are widened once where that pays: what remains is stated, and computes the same bits.

#include "frontends/widened_operands.h"

#include <gtest/gtest.h>

#include "tests/frontends/model_with.h"
#include "tests/frontends/outputs_of.h"

namespace isamap {
namespace {

bool has_cast(const ScalarExpr& e) {
  return std::holds_alternative<Cast>(e.op) || std::any_of(e.args.begin(), e.args.end(), has_cast);
}

/// A point of a sum costs 1 cycle with a cast and 1/2 without; conversions 1.
std::optional<double> slow_casts(const Kernel& kernel, std::size_t s) {
  const Computation& statement = kernel.statements[s];
  return has_cast(statement.body) || statement.reduction == Reduction::assign ? 1 : 0.5;
}
int casts_in(const ScalarExpr& e) {
  int count = std::holds_alternative<Cast>(e.op) ? 1 : 0;
  for (const ScalarExpr& arg : e.args) count += casts_in(arg);
  return count;
}
/// A point costs 1 cycle for each cast, and 1/2.
std::optional<double> each_cast(const Kernel& kernel, std::size_t s) {
  return casts_in(kernel.statements[s].body) + 0.5;
}
std::optional<double> no_casts(const Kernel& kernel, std::size_t s) {
  return has_cast(kernel.statements[s].body) ? std::nullopt : std::optional(0.5);
}
std::optional<double> fast_casts(const Kernel&, std::size_t) { return 1; }

std::optional<TensorData> weight_w(const Tensor& tensor) {
  Random random(5);
  return tensor.name == "W" ? std::optional(random_data(tensor, Fill::real, random)) : std::nullopt;
}

/// The lines of the model afterwards, with its weights; every output is the same to the last bit.
std::string widened(const std::string& text, const WideningPrices& prices = {slow_casts, 8}) {
  const Model model = model_with(text, weight_w), wide = widened_operands(model, prices);
  EXPECT_EQ(wide.origins.size(), wide.kernel.statements.size());
  const std::vector<TensorData> inputs = random_inputs(model, 3);
  EXPECT_EQ(outputs_of(model, inputs), outputs_of(wide, inputs));
  std::string lines;
  for (const Weight& weight : wide.weights) {
    const Tensor& tensor = wide.kernel.tensors[weight.tensor.index()];
    lines += "weight " + tensor.name + ": " + std::string(name(tensor.dtype)) + "\n";
  }
  for (const Computation& statement : wide.kernel.statements)
    lines += statement.name + ": " + print_formula(statement, wide.kernel.tensors) + "\n";
  return lines;
}

std::string product_of_rows(int rows, const std::string& type = "f16") {
  const std::string i = std::to_string(rows);
  return "kernel product\ntensor A: " + type + "[" + i + ",8] outside 0\ntensor W: " + type + "[8,5]\ntensor C: f32[" +
         i + ",5]\ns0: C[i,j] += f32(A[i+1,k]) * f32(W[k,j]) over i: " + i + ", j: 5, k: 8\n";
}

TEST(WidenedOperands, AConstantBecomesAWiderWeightAndAnInputIsConverted) {
  const std::string expected =
      "weight W_f32: f32\n"
      "A_f32: A_f32[i0,i1] = f32(A[i0,i1])\n"
      "s0: C[i,j] += A_f32[i + 1,k] * W_f32[k,j]\n";
  EXPECT_EQ(widened(product_of_rows(16)), expected);
  EXPECT_EQ(widened(product_of_rows(16, "bf16")), expected);
}

/// A bias of every row; the operand that each point reads once keeps its cast.
TEST(WidenedOperands, AConstantOfAnElementWiseStatementBecomesAWiderWeight) {
  const std::string text =
      "kernel bias\ntensor X: f16[64,8]\ntensor W: f16[8]\ntensor Y: f32[64,8]\n"
      "s0: Y[i,j] = f32(X[i,j]) + f32(W[j]) over i: 64, j: 8\n";
  EXPECT_EQ(widened(text, {each_cast, 8}),
            "weight W_f32: f32\n"
            "s0: Y[i,j] = f32(X[i,j]) + W_f32[j]\n");
}

/// S is written behind s0, too: it is read with its cast, beside a wider W.
TEST(WidenedOperands, AnOperandThatIsWrittenLaterKeepsItsCast) {
  const std::string lines = widened(R"(kernel half
tensor A: f16[8,8]
tensor W: f16[8,8]
tensor S: f16[16,8]
tensor C: f32[8,8]
tensor D: f32[16,8]
copy: S[a,k] = A[a,k] over a: 8, k: 8
s0: C[i,j] += f32(S[i,k]) * f32(W[k,j]) over i: 8, j: 8, k: 8
more: S[b+8,j] = f16(C[b,j]) over b: 8, j: 8
s1: D[i,j] += f32(S[i,k]) * f32(W[k,j]) over i: 16, j: 8, k: 8
)",
                                    {each_cast, 8});
  EXPECT_NE(lines.find("s0: C[i,j] += f32(S[i,k]) * W_f32[k,j]"), std::string::npos) << lines;
}

TEST(WidenedOperands, FewUsesOrFastConversionsDoNotPay) {
  const std::string as_before = "weight W: f16\ns0: C[i,j] += f32(A[i + 1,k]) * f32(W[k,j])\n";
  EXPECT_EQ(widened(product_of_rows(1)), as_before);
  EXPECT_EQ(widened(product_of_rows(0)), as_before);
  EXPECT_EQ(widened(product_of_rows(16), {fast_casts, 8}), as_before);
  EXPECT_EQ(widened(product_of_rows(16), {slow_casts, 0.1}), as_before) << "bytes are dear";
}

TEST(WidenedOperands, WhatNoInstructionComputesIsWidenedWherePointsAreMoreThanElements) {
  EXPECT_EQ(widened(product_of_rows(16), {no_casts, 0.1}),
            "weight W_f32: f32\nA_f32: A_f32[i0,i1] = f32(A[i0,i1])\ns0: C[i,j] += A_f32[i + 1,k] * W_f32[k,j]\n");
  EXPECT_EQ(widened(product_of_rows(1), {no_casts, 0.1}),
            "weight W: f16\ns0: C[i,j] += f32(A[i + 1,k]) * f32(W[k,j])\n");
}

const std::string two_products = R"(kernel two
tensor A: f16[16,16]
tensor B: f32[16,16]
tensor H: f16[16,16]
tensor C: f32[16,16]
tensor D: f32[16,16]
s0: B[i,j] += f32(A[i,k]) * f32(A[k,j]) over i: 16, j: 16, k: 16
s1: H[i,j] = f16(B[i,j]) over i: 16, j: 16
s2: C[i,j] += f32(A[i,k]) * f32(H[k,j]) over i: 16, j: 16, k: 16
s3: D[i,j] = f32(H[i,j]) over i: 16, j: 16
)";

TEST(WidenedOperands, ATensorIsConvertedOnceBehindItsProducer) {
  EXPECT_EQ(widened(two_products),
            "A_f32: A_f32[i0,i1] = f32(A[i0,i1])\n"
            "s0: B[i,j] += A_f32[i,k] * A_f32[k,j]\n"
            "s1: H[i,j] = f16(B[i,j])\n"
            "H_f32: H_f32[i0,i1] = f32(H[i0,i1])\n"
            "s2: C[i,j] += A_f32[i,k] * H_f32[k,j]\n"
            "s3: D[i,j] = f32(H[i,j])\n");
}

const std::string mixed_uses = R"(kernel mixed
tensor A: f16[16,16]
tensor C: f32[16,16]
s0: C[i,j] += f32(A[i,k] * A[k,j]) over i: 16, j: 16, k: 16
)";

TEST(WidenedOperands, ProductsRoundedToFewBitsStay) {
  EXPECT_EQ(widened(mixed_uses), "s0: C[i,j] += f32(A[i,k] * A[k,j])\n");
}

}  // namespace
}  // namespace isamap
