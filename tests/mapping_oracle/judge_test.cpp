// SPDX-License-Identifier: Apache-2.0
// The judge itself: mappings that simpler wordings of the definitions get wrong, each refused for its own reason, and
// the same mappings put right.

#include <gtest/gtest.h>

#include "tests/mapping_oracle/cover.h"
#include "tests/mapping_oracle/execute.h"
#include "tests/mapping_oracle/notation.h"

namespace isamap::oracle {
namespace {

const Nest matrix_nest = nest_from("i j k", "C[i,j] A[i,k] B[k,j]", {{"i", 4}, {"j", 2}, {"k", 4}});

Mapping with(const Nest& kernel, const Nest& unit, std::vector<Digit> digits) {
  Mapping mapping;
  mapping.operands = {0, 1, 2};
  mapping.digits = std::move(digits);
  EXPECT_TRUE(add_loops(kernel, mapping));
  EXPECT_TRUE(add_carriers(kernel, unit, mapping));
  return mapping;
}
std::string verdict(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  const std::string points = judge(kernel, unit, mapping).text();
  const std::string run = execute(kernel, unit, mapping, 5).problem;
  return points.substr(0, points.find(':')) + (run.empty() ? ", runs right" : ", runs wrong");
}

TEST(Judge, ParallelOutputDigitsAreJointlyWrong) {
  const Nest conv =
      nest_from("n k c p r", "O[n,k,p] I[n,c,p+r] F[k,c,r]", {{"n", 2}, {"k", 3}, {"c", 2}, {"p", 6}, {"r", 3}});
  const Vec p = {0, 0, 0, 1, 0}, p_less_r = {0, 0, 0, 1, -1};
  EXPECT_EQ(verdict(conv, matrix_nest, with(conv, matrix_nest, {{p, 6, {0}}})), ", runs right");
  EXPECT_EQ(verdict(conv, matrix_nest, with(conv, matrix_nest, {{p_less_r, 4, {1}}})), ", runs right");
  Mapping both = with(conv, matrix_nest, {{p, 4, {0}}, {p_less_r, 4, {1}}});
  EXPECT_EQ(verdict(conv, matrix_nest, both), "O, runs wrong");
  both.partial = true;
  EXPECT_EQ(execute(conv, matrix_nest, both, 5).problem, "");
  EXPECT_EQ(verdict(conv, matrix_nest, with(conv, matrix_nest, {{{0, 0, 0, 4, 0}, 2, {0}}, {p_less_r, 4, {1}}})),
            ", runs right");
}

TEST(Judge, ExtentsMatterForOverlappingOutputs) {
  const Nest scatter = nest_from("p r", "O[2p+r] I[p] F[r]", {{"p", 5}, {"r", 3}});
  EXPECT_EQ(verdict(scatter, matrix_nest, with(scatter, matrix_nest, {{{1, 0}, 5, {0}}, {{0, 1}, 2, {1}}})),
            ", runs right");
  const std::vector<Digit> three = {{{1, 0}, 5, {0}}, {{0, 1}, 3, {1}}};
  EXPECT_EQ(verdict(scatter, matrix_nest, with(scatter, matrix_nest, three)), ", runs right");  // tiles of two
  Nest wide = matrix_nest;
  wide.extents[1] = 3;
  Mapping mapping = with(scatter, wide, three);
  EXPECT_EQ(verdict(scatter, wide, mapping), "O, runs wrong");
  mapping.partial = true;
  EXPECT_EQ(execute(scatter, wide, mapping, 5).problem, "");
}

TEST(Judge, VirtualReductionDimNeedsACarrier) {
  const Nest outer = nest_from("i j", "C[i,j] A[i] B[j]", {{"i", 5}, {"j", 3}});
  Mapping mapping = with(outer, matrix_nest, {{{1, 0}, 5, {0}}, {{0, 1}, 3, {1}}});
  EXPECT_EQ(verdict(outer, matrix_nest, mapping), ", runs right");
  std::erase_if(mapping.carriers, [](const Carrier& carrier) { return carrier.reason == "fill k"; });
  EXPECT_EQ(verdict(outer, matrix_nest, mapping), "N, runs wrong");
}

TEST(Judge, MaxPlusAndAbsoluteDifference) {
  Nest kernel = nest_from("i j k", "C[i,j] A[i,k] B[k,j]", {{"i", 4}, {"j", 2}, {"k", 6}}), unit = matrix_nest;
  kernel.body = unit.body = Body::sum;
  kernel.reduction = unit.reduction = Reduction::max;
  Mapping mapping = with(kernel, unit, {{{1, 0, 0}, 4, {0}}, {{0, 1, 0}, 2, {1}}, {{0, 0, 1}, 6, {2}}});
  EXPECT_EQ(mapping.carriers.size(), 1U);
  EXPECT_EQ(verdict(kernel, unit, mapping), ", runs right");
  kernel.body = unit.body = Body::abs_diff;
  kernel.reduction = unit.reduction = Reduction::add;
  EXPECT_EQ(verdict(kernel, unit, mapping), "N, runs wrong");  // one dead input is not enough
  mapping.carriers.clear();
  EXPECT_TRUE(add_carriers(kernel, unit, mapping));
  EXPECT_EQ(mapping.carriers.size(), 2U);
  EXPECT_EQ(verdict(kernel, unit, mapping), ", runs right");
}

TEST(Judge, WindowsAreCoupledThroughTheirExtents) {
  const Nest kernel = nest_from("n p r", "O[n,p] I[n,p+r] F[r]", {{"n", 2}, {"p", 3}, {"r", 2}});
  const Nest unit = nest_from("i x", "C[i] A[i+x] B[x]", {{"i", 8}, {"x", 2}});
  const auto mapping = [&](Int extent) {
    return with(kernel, unit, {{{1, 0, 0}, 2, {0}}, {{0, 1, 0}, extent, {0}}, {{0, 0, 1}, 2, {1}}});
  };
  EXPECT_EQ(verdict(kernel, unit, mapping(3)), "S, runs wrong");
  EXPECT_EQ(verdict(kernel, unit, mapping(4)), ", runs right");  // rows with their halo
}

TEST(Judge, PlacesAndCovers) {
  const Nest kernel = nest_from("q", "O[q] I[q] F[]", {{"q", 6}});
  Mapping mapping;
  mapping.operands = {0, 1, 2};
  mapping.digits = {{{1}, 4, {0}}};
  mapping.loops = {{0, 3, 2, false}};
  EXPECT_EQ(calls_of(kernel, matrix_nest, mapping).problem, "C: point (3) is in 2 places; ");
  mapping.loops = {{0, 4, 1, false}};
  EXPECT_EQ(calls_of(kernel, matrix_nest, mapping).problem, "C: point (4) is in 0 places; ");
  mapping.printed = true;
  mapping.turns = {{{4}, 1, false}};
  EXPECT_EQ(judge(kernel, matrix_nest, mapping).cover, "C: point (4) is in 0 places; ");
  mapping.turns = {{{4}, 1, true}};
  EXPECT_EQ(judge(kernel, matrix_nest, mapping).cover, "");
  mapping.loops = {{0, 4, 2, false}};
  EXPECT_EQ(calls_of(kernel, matrix_nest, mapping).problem, "");
}

TEST(Judge, TheShearedChainFillsTheUnitBest) {
  const Nest stencil = nest_from("q s", "O[q] I[q+s] F[s]", {{"q", 96}, {"s", 3}});
  const auto calls = [&](std::vector<Digit> digits) {
    const Mapping mapping = with(stencil, matrix_nest, std::move(digits));
    EXPECT_EQ(verdict(stencil, matrix_nest, mapping), ", runs right");
    return calls_of(stencil, matrix_nest, mapping).list.size();
  };
  EXPECT_EQ(calls({{{1, 0}, 96, {0}}, {{0, 1}, 3, {2}}}), 24U);                     // 288 points / 24 * 32: 0.375
  EXPECT_EQ(calls({{{2, 0}, 48, {0}}, {{1, -1}, 2, {1}}, {{0, 1}, 4, {2}}}), 12U);  // 0.75
}

TEST(Judge, DiagonalBlocks) {
  const Nest kernel = nest_from("c q", "O[c,q] I[c,q] F[c]", {{"c", 3}, {"q", 5}});
  for (const std::vector<int>& places : {std::vector<int>{0, 1}, std::vector<int>{0, 2}, std::vector<int>{1, 2}}) {
    Mapping mapping = with(kernel, matrix_nest, {{{1, 0}, 3, places}, {{0, 1}, 5, {0}}});
    EXPECT_EQ(verdict(kernel, matrix_nest, mapping), ", runs right");
    std::erase_if(mapping.carriers, [](const Carrier& carrier) { return carrier.reason.rfind("tie", 0) == 0; });
    EXPECT_EQ(verdict(kernel, matrix_nest, mapping).substr(0, 1), "N");
  }
}

}  // namespace
}  // namespace isamap::oracle
