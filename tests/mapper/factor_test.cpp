// SPDX-License-Identifier: Apache-2.0
// Factorings compute what the one statement computes; matrix multiplications inside statements.

#include <gtest/gtest.h>

#include "isamap/interpret.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

Kernel separable() {
  return kernel_of("O[n,k,p,q] += I[n,c,p+r,q+s] * D[c,r,s] * W[k,c]",
                   {{"n", 1}, {"k", 3}, {"c", 4}, {"p", 3}, {"q", 2}, {"r", 2}, {"s", 3}});
}

/// Tensors of the original are the first of every factored kernel.
void expect_same_result(const Kernel& kernel, const Kernel& factored, std::uint64_t seed) {
  EXPECT_EQ(render(verify(factored)), "");
  Random random(seed);
  std::vector<TensorData> data, other;
  for (const Tensor& tensor : kernel.tensors) data.push_back(random_data(tensor, Fill::integers, random));
  for (std::size_t t = 0; t < factored.tensors.size(); ++t)
    other.push_back(t < data.size() ? data[t] : make_data(factored.tensors[t]));
  interpret(kernel, data);
  interpret(factored, other);
  const std::size_t output = kernel.statements[0].write.tensor.index();
  EXPECT_EQ(data[output].bytes, other[output].bytes) << print(factored);
}

/// Without the list of extents.
std::string statement_text(const std::string& printed) { return printed.substr(0, printed.find(" over ")); }

TEST(Factorings, DepthwiseSeparable) {
  const Kernel kernel = separable();
  std::string text;
  for (const Factoring& factoring : factorings(kernel)) {
    text += factoring.description + "\n";
    for (const Computation& c : factoring.kernel.statements)
      text += "  " + statement_text(print(c, factoring.kernel.tensors)) + "\n";
    expect_same_result(kernel, factoring.kernel, 11);
  }
  EXPECT_EQ(text,
            "depthwise(I, D) then matmul(T, W)\n"
            "  T[n,c,p,q] += I[n,c,p + r,q + s] * D[c,r,s]\n"
            "  O[n,k,p,q] += T[n,c,p,q] * W[k,c]\n"
            "product(I, W) then sum(T, D)\n"
            "  T[n,c,p,r,q,s,k] = I[n,c,p + r,q + s] * W[k,c]\n"
            "  O[n,k,p,q] += T[n,c,p,r,q,s,k] * D[c,r,s]\n"
            "product(D, W) then matmul(I, T)\n"
            "  T[c,r,s,k] = D[c,r,s] * W[k,c]\n"
            "  O[n,k,p,q] += I[n,c,p + r,q + s] * T[c,r,s,k]\n");
}

TEST(Factorings, FourFactorsAndWrappingSums) {
  const Kernel kernel = kernel_of("O[i] += A[i,j] * B[j,k] * C[k,l] * D[l]", {{"i", 3}, {"j", 2}, {"k", 4}, {"l", 3}},
                                  {{"A", DType::s8}, {"B", DType::s16}});
  const auto found = factorings(kernel);
  EXPECT_EQ(found.size(), 10U);  // 6 pairs and 4 triples
  for (const Factoring& factoring : found) expect_same_result(kernel, factoring.kernel, 5);
}

TEST(Factorings, AFaceThatCouplesTheSummedDimForbids) {
  Kernel kernel = separable();
  EXPECT_EQ(factorings(kernel).size(), 3U);
  kernel.statements[0].domain.faces = {AffineExpr::dim("k") - AffineExpr::dim("r")};  // r would be summed without k
  const auto found = factorings(kernel);
  ASSERT_EQ(found.size(), 2U);
  for (const Factoring& factoring : found) expect_same_result(kernel, factoring.kernel, 3);
}

TEST(Factorings, TwoFactorsOrOtherReductionsHaveNone) {
  EXPECT_TRUE(factorings(gemm(2, 3, 4)).empty());
  EXPECT_TRUE(factorings(kernel_of("O[i] max= A[i,j] * B[j] * C[j]", {{"i", 2}, {"j", 3}})).empty());
}

std::string shape_of(const Kernel& kernel) {
  const auto shape = extracted_matmul(kernel, StatementId{0});
  if (!shape) return "none";
  std::string text = std::to_string(shape->m) + " " + std::to_string(shape->n) + " " + std::to_string(shape->k);
  for (const auto& [dim, extent] : shape->outer) text += " " + dim + "=" + std::to_string(extent);
  return text;
}

TEST(Matmul, InsideStatements) {
  EXPECT_EQ(shape_of(gemm(4, 5, 6)), "4 5 6");
  EXPECT_EQ(shape_of(conv2d()), "40 5 18");
  EXPECT_EQ(shape_of(depthwise2d()), "none");
  EXPECT_EQ(shape_of(kernel_of("C[b,i,j] += A[b,i,k] * B[b,k,j]", {{"b", 3}, {"i", 4}, {"j", 1}, {"k", 6}})),
            "4 1 6 b=3");
  EXPECT_EQ(shape_of(kernel_of("C[i] += A[i,k] * B[k]", {{"i", 4}, {"k", 6}})), "none");
  EXPECT_EQ(shape_of(kernel_of("C[i,j] += abs(A[i,k] - B[k,j])", {{"i", 4}, {"j", 4}, {"k", 6}})), "none");
}

}  // namespace
}  // namespace isamap::testing
