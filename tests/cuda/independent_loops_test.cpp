// SPDX-License-Identifier: Apache-2.0
// Which loops of a nest  for i in 4 { for j in 5 { .. } }  below a loop over b have no dependences.

#include "backends/cuda/independent_loops.h"

#include <gtest/gtest.h>

#include <array>

namespace isamap {
namespace {

std::array<AffineExpr, 3> dims_bij() { return {AffineExpr::dim("b"), AffineExpr::dim("i"), AffineExpr::dim("j")}; }

/// One buffer is written at one offset and read at others: "ij": the iterations of both loops are independent.
std::string independent_of(const AffineExpr& written, const std::vector<AffineExpr>& read = {}) {
  const std::vector<Loop> nest = {{"i", 4, false, "", {}}, {"j", 5, false, "", {}}};
  std::vector<OffsetUse> uses{{written, true}};
  for (const AffineExpr& offset : read) uses.push_back({offset, false});
  std::string names;
  for (const std::string& name :
       independent_loops(nest, {{0, uses}}, {{"b", {0, 2}}, {"i", {0, 3}}, {"j", {0, 4}}}, {{"b", {0, 2}}}))
    names += name;
  return names;
}

TEST(CudaIndependentLoops, EveryIterationWritesItsOwnElement) {
  const auto [b, i, j] = dims_bij();
  EXPECT_EQ(independent_of(i * 5 + j), "ij");
  EXPECT_EQ(independent_of(j * 4 + i, {j * 4 + i}), "ij");
  EXPECT_EQ(independent_of(i * 12 + j, {i * 12 + j}), "ij");        // with gaps
  EXPECT_EQ(independent_of(AffineExpr(30) - i * 5 - j), "ij");      // backwards
  EXPECT_EQ(independent_of(b + i * 5 + j, {b + i * 5 + j}), "ij");  // b is the same for all iterations
}

TEST(CudaIndependentLoops, SumsBelongToTheLoopsOfTheirOutput) {
  const auto [b, i, j] = dims_bij();
  EXPECT_EQ(independent_of(i, {i}), "i");
  EXPECT_EQ(independent_of(j * 8, {j * 8}), "j");
  EXPECT_EQ(independent_of(b, {b}), "");
}

TEST(CudaIndependentLoops, OverlapsAreDependences) {
  const auto [b, i, j] = dims_bij();
  EXPECT_EQ(independent_of(i * 2 + j), "");               // rows of 5, two apart
  EXPECT_EQ(independent_of(i + AffineExpr(1), {i}), "");  // a recurrence
  EXPECT_EQ(independent_of(i * 10 + j, {i * 10 + j + AffineExpr(5)}),
            "");                                                   // halves of a row do not meet, but spans overlap
  EXPECT_EQ(independent_of(floordiv(i * 5 + j, 2)), "");           // two iterations share an element
  EXPECT_EQ(independent_of(i * 5 + j, {i * 5 + j * 2}), "");       // read elsewhere
  EXPECT_EQ(independent_of(b * 20 + i * 5 + j, {i * 5 + j}), "");  // read at another b
}

}  // namespace
}  // namespace isamap
