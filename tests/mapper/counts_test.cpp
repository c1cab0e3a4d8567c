// SPDX-License-Identifier: Apache-2.0
// Known counts (docs/mapping.md) and exact lists.

#include <gtest/gtest.h>

#include "mapper/proof/certificate.h"
#include "mapper/proof/z3_solver.h"
#include "tests/cost.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

std::size_t count(const Kernel& kernel, const Instruction& instruction, Rule rule) {
  return written_order(map_one(kernel, instruction, rule).mappings).size();
}

std::string list(const Kernel& kernel, const Instruction& instruction, Rule rule) {
  std::string text;
  const PairMappings result = map_one(kernel, instruction, rule);
  for (const Mapping& mapping : result.mappings) text += shown(mapping, kernel, instruction) + "\n";
  for (const Reason& reason : result.reasons) text += "- " + reason.text + "\n";
  return text;
}

const Instruction matrix_form = matrix_unit(16, 16, 16);
const Instruction vector_form = instruction_of("C[j] += A[j] * B[j]", {{"j", 16}});
const Instruction broadcast_form = instruction_of("C[j] += A[] * B[j]", {{"j", 16}});
const Instruction dot_form = instruction_of("C[i] += A[i,x] * B[i,x]", {{"i", 8}, {"x", 4}});
const Instruction outer_form = instruction_of("C[i] += A[x] * B[i,x]", {{"i", 16}, {"x", 4}});

TEST(AccessCounts, MatrixUnit) {
  EXPECT_EQ(count(gemm(20, 30, 40), matrix_form, Rule::access), 1U);
  EXPECT_EQ(count(conv1d(), matrix_form, Rule::access), 9U);
  EXPECT_EQ(count(conv2d(), matrix_form, Rule::access), 49U);
  EXPECT_EQ(count(depthwise2d(), matrix_form, Rule::access), 0U);
}

TEST(AccessCounts, OneInputWithoutTheVectorDim) {
  EXPECT_EQ(count(gemm(20, 30, 40), outer_form, Rule::access), 1U);
  EXPECT_EQ(count(conv1d(), outer_form, Rule::access), 3U);
  EXPECT_EQ(count(conv2d(), outer_form, Rule::access), 7U);
}

TEST(AccessCounts, JoinedDimsAreOneClass) {
  const Instruction joined =
      instruction_of("C[i,j] += A[i,k,x] * B[k,x,j]", {{"i", 16}, {"j", 16}, {"k", 16}, {"x", 4}});
  EXPECT_EQ(count(gemm(20, 30, 40), joined, Rule::access), 1U);
  EXPECT_EQ(count(conv1d(), joined, Rule::access), 9U);
}

TEST(AccessCounts, AllThreeOperandsAlongTheVector) {
  EXPECT_EQ(list(depthwise2d(), vector_form, Rule::access), "unit(j = c) O <- I, F kinds axis; fill j -> 0\n");
}

TEST(AccessCounts, BroadcastFormOfDepthwise) {
  EXPECT_EQ(list(kernel_of("O[c,p,q] += I[c,p+r,q+s] * F[c,r,s]", {{"c", 5}, {"p", 16}, {"q", 5}, {"r", 3}, {"s", 2}}),
                 broadcast_form, Rule::access),
            "unit(j = p) O <- F, I kinds exchange\n"
            "unit(j = q) O <- F, I kinds exchange; fill j -> 0\n"
            "unit(j = p.q) O <- F, I kinds exchange\n"
            "- no dim is used by O and F only, so instruction dim j has nothing to run over; nearest is c, used by O, "
            "I and F; "
            "rule full leaves j virtual (filled up)\n");
}

TEST(FullCounts, RepeatedInputsAndVirtualDims) {
  EXPECT_EQ(count(conv1d(), vector_form, Rule::full), 7U);
  EXPECT_EQ(count(conv2d(), vector_form, Rule::full), 15U);
  EXPECT_EQ(count(gemm(20, 30, 40), dot_form, Rule::full), 3U);
  EXPECT_EQ(count(conv1d(), dot_form, Rule::full), 21U);
  EXPECT_EQ(count(conv2d(), dot_form, Rule::full), 105U);
  EXPECT_EQ(count(depthwise2d(), dot_form, Rule::full), 45U);
  EXPECT_EQ(count(gemm(20, 30, 40), matrix_form, Rule::full), 1U);
  EXPECT_EQ(count(gemm(20, 30, 40), matrix_form, Rule::all), 8U);
  EXPECT_EQ(count(conv1d(), vector_form, Rule::all), 8U);
  EXPECT_EQ(count(conv2d(), vector_form, Rule::all), 16U);
}

/// No two dims of this unit are used by all operands that b moves, three are.
TEST(FullCounts, TiesOfThree) {
  const Kernel product = kernel_of("O[b] += X[b] * Y[b] * Z[b]", {{"b", 6}});
  const Instruction unit = instruction_of("C[i,j,k] += A[i] * B[j] * D[k]", {{"i", 4}, {"j", 4}, {"k", 4}});
  const PairMappings found = map_one(product, unit, Rule::full);
  const auto plain = written_order(found.mappings);
  ASSERT_EQ(plain.size(), 2U);  // and one without digits
  EXPECT_EQ(shown(plain[1], product, unit),
            "unit(i = b, j = b, k = b) O <- X, Y, Z kinds block-diagonal; b<=5 -> 0; tie i.j b -> 0; tie i.k b -> 0");
  SolverStatistics statistics;
  for (const Mapping& mapping : found.mappings)
    EXPECT_EQ(replay(certify(alignment_of(product, unit, mapping), mapping), 2'000'000, statistics), Truth::yes);
}

TEST(FullCounts, StencilsDotsAndOuterProducts) {
  const Kernel stencil = kernel_of("O[p,q] += I[p+r,q+s] * F[r,s]", {{"p", 5}, {"q", 6}, {"r", 3}, {"s", 3}});
  EXPECT_EQ(count(stencil, matrix_form, Rule::full), 53U);
  EXPECT_EQ(list(kernel_of("O[] += A[k] * B[k]", {{"k", 16}}), matrix_form, Rule::full),
            "unit(i = -, j = -, k = k) O <- A, B kinds virtual; fill i -> 0; fill j -> 0\n"
            "unit(i = -, j = -, k = k) O <- B, A kinds virtual exchange; fill i -> 0; fill j -> 0\n");
  EXPECT_EQ(count(kernel_of("O[i,j] += A[i] * B[j]", {{"i", 16}, {"j", 16}}), matrix_form, Rule::full), 1U);
}

TEST(Lists, GemmOnAVectorUnit) {
  EXPECT_EQ(list(gemm(16, 32, 4), vector_form, Rule::full),
            "unit(j = i) C <- A, B kinds replicate\n"
            "unit(j = j) C <- A, B kinds replicate\n"
            "unit(j = i.j) C <- A, B kinds replicate\n");
}

TEST(Lists, MatrixTimesVectorLeavesADimVirtual) {
  EXPECT_EQ(list(kernel_of("C[i] += A[i,k] * B[k]", {{"i", 16}, {"k", 16}}), matrix_form, Rule::full),
            "unit(i = i, j = -, k = k) C <- A, B kinds virtual; fill j -> 0\n"
            "unit(i = -, j = i, k = k) C <- B, A kinds virtual exchange; fill i -> 0\n");
}

TEST(Lists, ScalarInstructionsTakeEverything) {
  const Instruction scalar = instruction_of("C[] += A[] * B[]", {});
  EXPECT_EQ(list(conv1d(), scalar, Rule::access), "unit() O <- I, F kinds axis\n");
}

TEST(Lists, AScatterCutsTheFinerDigit) {
  const Kernel scatter =
      kernel_of("O[n,k,2*p+r] += I[n,c,p] * F[k,c,r]", {{"n", 2}, {"k", 5}, {"c", 3}, {"p", 4}, {"r", 3}});
  EXPECT_EQ(count(scatter, matrix_form, Rule::access), 9U);
  for (const Mapping& mapping : map_one(scatter, matrix_form, Rule::access).mappings) {
    bool has_p = false;
    std::int64_t r = 0;
    for (const auto& digits : mapping.dims) {
      for (const Digit& digit : digits) {
        has_p = has_p || digit.column == AffineExpr::dim("p");
        if (digit.column == AffineExpr::dim("r")) r = digit.extent;
      }
    }
    EXPECT_TRUE(!has_p || r == 0 || r == 2) << shown(mapping, scatter, matrix_form);
  }
}

TEST(Lists, EqualDimsOfASymmetricInstructionAreOne) {
  EXPECT_EQ(map_one(gemm(20, 30, 40), vector_form, Rule::full).mappings.size(), 3U);  // A, B interchangeable
  EXPECT_EQ(map_one(gemm(20, 30, 40), matrix_form, Rule::full).mappings.size(), 2U);  // layouts differ: [i,k], [k,j]
}

TEST(Lists, UnitAndZeroExtents) {
  EXPECT_EQ(list(gemm(1, 32, 16), matrix_form, Rule::access),
            "unit(i = i, j = j, k = k) C <- A, B kinds axis; fill i -> 0\n"
            "unit(i = j, j = i, k = k) C <- B, A kinds exchange; fill j -> 0\n");
  const PairMappings none = map_one(gemm(0, 32, 16), matrix_form, Rule::access);
  ASSERT_EQ(none.mappings.size(), 2U);
  EXPECT_EQ(none.mappings[0].utilisation, 0);
  EXPECT_EQ(count(kernel_of("O[n,k,p] += I[n,c,p+r] * F[k,c,r]", {{"n", 1}, {"k", 5}, {"c", 3}, {"p", 6}, {"r", 1}}),
                  matrix_form, Rule::access),
            1U);
}

TEST(Lists, Utilisation) {
  const PairMappings result = map_one(conv1d(), matrix_unit(16, 4, 16), Rule::access);
  // n.p 12 of 16, k 5 in 2 calls of 4, c.r 9 of 16: 12*5*9 points in 2 calls of 16*4*16
  EXPECT_DOUBLE_EQ(written_order(result.mappings).back().utilisation, 540.0 / (2 * 1024));
}

TEST(Bounds, ManyDimsAnswerQuickly) {
  std::string out = "O[", first = "A[", second = "B[";
  Sizes sizes;
  for (int d = 0; d < 24; ++d) {
    const std::string name = "d" + std::to_string(d);
    sizes[name] = 2;
    const std::string index = name + ",";
    if (d % 3 != 2) out += index;
    if (d % 3 != 1) first += index;
    if (d % 3 != 0) second += index;
  }
  const auto close = [](std::string text) {
    text.back() = ']';
    return text;
  };
  const Kernel kernel = kernel_of(close(out) + " += " + close(first) + " * " + close(second), sizes);
  for (const Rule rule : {Rule::access, Rule::full, Rule::all}) {
    for (const Instruction* unit : {&matrix_form, &vector_form, &dot_form}) {
      const double start = cost::processor_seconds();
      const PairMappings result = map_one(kernel, *unit, rule);
      const double spent = cost::processor_seconds() - start;
      EXPECT_LE(result.mappings.size(), static_cast<std::size_t>(MapOptions{}.max_mappings));
      EXPECT_TRUE(result.limit_reached || !result.mappings.empty() || !result.reasons.empty());
      RecordProperty("ms", static_cast<int>(1000 * spent));
      EXPECT_LT(spent, cost::allowed(10));
    }
  }
}

}  // namespace
}  // namespace isamap::testing
