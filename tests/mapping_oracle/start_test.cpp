// SPDX-License-Identifier: Apache-2.0
// Sums from call to call, for all forms of an instruction's `start`: which mappings are right is found by looking which
// calls write an element, and by running them.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/mapper/cases.h"
#include "tests/mapping_oracle/certified.h"
#include "tests/mapping_oracle/convert.h"
#include "tests/mapping_oracle/execute.h"
#include "tests/mapping_oracle/random_pairs.h"

namespace isamap::oracle {
namespace {

using Choices = std::vector<Start>;

Pair starting(const Pair& pair, const Choices& choices, bool inout = false) {
  Pair made = pair;
  made.instruction.start = {{"C", choices}};
  if (choices.empty()) made.instruction.start.clear();
  made.kernel.tensors[0].inout = made.statement.holds = inout;
  made.unit.anew = choices == Choices{Start::zero};
  return made;
}

bool lists(const PairMappings& found, const isamap::Mapping& wanted) {
  return std::any_of(found.mappings.begin(), found.mappings.end(), [&](const isamap::Mapping& m) {
    return m.operands == wanted.operands && m.dims == wanted.dims && m.constant == wanted.constant;
  });
}

struct Counted {
  int right = 0, lost = 0, certified = 0;
};

/// Of an instruction that begins anew at each call: what is listed is right, what is not would lose a sum.
void compare(const Pair& anew, const PairMappings& any, int certificates, Counted& counted) {
  const PairMappings found = mapped(anew, Rule::full);
  for (const isamap::Mapping& m : found.mappings) {
    const Mapping plain = mapping_of(m, anew.statement);
    const std::string text = anew.text + "\n" + print(plain, anew.statement, anew.unit);
    const Verdict verdict = judge(anew.statement, anew.unit, plain);
    EXPECT_TRUE(verdict.right(plain.partial)) << verdict.text() << "\n" << text;
    EXPECT_EQ(execute(anew.statement, anew.unit, plain, 7).problem, "") << text;
    ++counted.right;
  }
  if (any.limit_reached || found.limit_reached) return;
  for (const isamap::Mapping& m : any.mappings) {
    const Mapping plain = mapping_of(m, anew.statement);
    const bool right = judge(anew.statement, anew.unit, plain).sums.empty();
    const std::string text = anew.text + "\n" + print(plain, anew.statement, anew.unit);
    EXPECT_EQ(lists(found, m), right) << (right ? "missed\n" : "loses a sum\n") << text;
    counted.lost += right ? 0 : 1;
    if (counted.certified >= certificates || anew.statement.holds) continue;
    const Certified said = certified(anew, m);
    EXPECT_EQ(said.proved.value_or(right), right) << said.failed << "\n" << text;
    if (!right && said.proved) {
      EXPECT_EQ(said.failed.substr(0, 2), "A:") << text;
    }
    ++counted.certified;
  }
}

Counted compared(std::uint64_t seed, int pairs, int certificates) {
  Random random(seed);
  Counted counted;
  for (int n = 0; n < pairs; ++n) {
    const Pair pair = random_pair(random, {3, 3, 1, 4, true, true, 0, false});
    const PairMappings any = mapped(pair, Rule::full);
    for (const Choices& keeps :
         {Choices{Start::keep}, Choices{Start::zero, Start::keep}, Choices{Start::keep, Start::zero}}) {
      const PairMappings same = mapped(starting(pair, keeps, n % 2 == 1), Rule::full);
      EXPECT_EQ(same.mappings.size(), any.mappings.size()) << pair.text;
      for (const isamap::Mapping& m : any.mappings) EXPECT_TRUE(lists(same, m)) << pair.text;
    }
    compare(starting(pair, {Start::zero}), any, certificates, counted);
    compare(starting(pair, {Start::zero}, true), any, 0, counted);
  }
  std::cout << counted.right << " right, " << counted.lost << " would lose a sum, " << counted.certified
            << " certificates\n";
  return counted;
}

TEST(Start, SumsFromCallToCall) {
  const Counted counted = compared(31, 25, 10);
  EXPECT_GT(counted.right, 25);
  EXPECT_GT(counted.lost, 50);
}

/// Loops along a line of the lattice take one value on each line, and other values on other lines: several calls.
TEST(Start, LinesOfTheLatticeBeginElsewhere) {
  struct Lines {
    std::string kernel, unit;
    testing::Sizes sizes, unit_sizes;
  };
  Counted counted;
  for (const Lines& l : std::vector<Lines>{{"C[] += A[d0 + d1] * B[d0]",
                                            "C[m1] += A[m0] * B[m0,m1,m2]",
                                            {{"d0", 2}, {"d1", 4}},
                                            {{"m0", 2}, {"m1", 1}, {"m2", 4}}},
                                           {"C[] += A[d0 + d1] * B[d1]",
                                            "C[m1] += A[m1] * B[m0,m1]",
                                            {{"d0", 2}, {"d1", 3}},
                                            {{"m0", 3}, {"m1", 2}}}}) {
    Pair pair;
    pair.kernel = testing::kernel_of(l.kernel, l.sizes);
    pair.instruction = testing::instruction_of(l.unit, l.unit_sizes);
    pair.statement = *nest_of(pair.kernel.statements[0]);
    pair.unit = *nest_of(pair.instruction.semantics[0]);
    pair.text = l.kernel + " on " + l.unit;
    compare(starting(pair, {Start::zero}), mapped(pair, Rule::full), 0, counted);
  }
  EXPECT_GT(counted.lost, 1);
}

TEST(StartHeavy, SumsFromCallToCall) { EXPECT_GT(compared(57, 500, 400).lost, 1000); }

struct Example {
  std::string kernel, unit;
  testing::Sizes sizes, unit_sizes;
  std::string refusal;  ///< empty: it maps
};

TEST(Start, ReductionsInsideAndOutsideOfACall) {
  const std::string gemm = "C[i,j] += A[i,k] * B[k,j]", fused = "C[i] += A[i,r,s] * B[r,s]";
  const testing::Sizes mma{{"i", 2}, {"j", 2}, {"k", 4}};
  const std::string over = "each call overwrites C, so one call must compute the whole sum";
  for (const Example& e : std::vector<Example>{
           {gemm, gemm, {{"i", 3}, {"j", 5}, {"k", 4}}, mma, ""},
           {gemm, gemm, {{"i", 3}, {"j", 5}, {"k", 3}}, mma, ""},  // padding along k
           {gemm, gemm, {{"i", 3}, {"j", 5}, {"k", 1}}, mma, ""},
           {gemm, gemm, {{"i", 3}, {"j", 5}, {"k", 5}}, mma, over + ": instruction dim k takes 4, the sum needs 5"},
           {fused, "C[i] += A[i,k] * B[k]", {{"i", 3}, {"r", 2}, {"s", 2}}, {{"i", 2}, {"k", 4}}, ""},
           {fused,
            "C[i] += A[i,k] * B[k]",
            {{"i", 3}, {"r", 2}, {"s", 3}},
            {{"i", 2}, {"k", 4}},
            over + ", but a loop over s remains"},  // r alone along k
           {fused,
            "C[i] += A[i] * B[]",
            {{"i", 3}, {"r", 1}, {"s", 2}},
            {{"i", 2}},
            over + ", but a loop over s remains"},
           {"C[i] max= A[i,k]", "C[i] max= A[i,k]", {{"i", 3}, {"k", 4}}, {{"i", 2}, {"k", 4}}, ""},
           {"C[i] max= A[i,k]",
            "C[i] max= A[i,k]",
            {{"i", 3}, {"k", 6}},
            {{"i", 2}, {"k", 4}},
            over + ": instruction dim k takes 4, the sum needs 6"},
           {"C[p+r] += A[p] * B[r]", "C[i+j] += A[i] * B[j]", {{"p", 3}, {"r", 2}}, {{"i", 3}, {"j", 2}}, ""},
       }) {
    const Kernel kernel = testing::kernel_of(e.kernel, e.sizes, {}, DType::s32);
    Instruction unit = testing::instruction_of(e.unit, e.unit_sizes, {}, DType::s32);
    EXPECT_FALSE(testing::map_one(kernel, unit, Rule::full).mappings.empty()) << e.kernel;
    unit.start = {{"C", {Start::zero}}};
    const PairMappings found = testing::map_one(kernel, unit, Rule::full);
    EXPECT_EQ(found.mappings.empty(), !e.refusal.empty()) << e.kernel << " on " << e.unit;
    if (e.refusal.empty()) continue;
    EXPECT_TRUE(std::any_of(found.reasons.begin(), found.reasons.end(),
                            [&](const Reason& reason) { return reason.text == e.refusal; }))
        << e.refusal << "\nfound: " << (found.reasons.empty() ? "" : found.reasons[0].text);
  }
}

TEST(Start, WhatStandsInTheOutputIsNotLost) {
  Kernel kernel = testing::kernel_of("C[i] += A[i] * B[i]", {{"i", 4}});
  Instruction unit = testing::instruction_of("C[i] += A[i] * B[i]", {{"i", 4}});
  unit.start = {{"C", {Start::zero}}};
  EXPECT_EQ(testing::map_one(kernel, unit, Rule::full).mappings.size(), 1U);
  kernel.tensors[0].inout = true;
  const PairMappings found = testing::map_one(kernel, unit, Rule::full);
  EXPECT_TRUE(found.mappings.empty());
  ASSERT_FALSE(found.reasons.empty());
  EXPECT_EQ(found.reasons[0].text, "each call overwrites C, but C holds a value that the statement adds to");
}

}  // namespace
}  // namespace isamap::oracle
