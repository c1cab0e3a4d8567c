// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "isamap/expression.h"
#include "isamap/kernel.h"

namespace isamap {
namespace {

const std::vector<std::string> names = {"A", "B", "C"};

std::string typed(const ScalarExpr& raw, DType output) {
  const auto result = elaborate(raw, output, {});
  return result ? print(*result, names) : result.diagnostics().front().message;
}

ScalarExpr a(DType type) { return read(0, type); }
ScalarExpr b(DType type) { return read(1, type); }
ScalarExpr product(DType x, DType y) { return binary(BinaryOp::mul, a(x), b(y)); }

TEST(Elaborate, WidensLeavesToTheContext) {
  EXPECT_EQ(typed(product(DType::u8, DType::s8), DType::s32), "s32(A) * s32(B)");
  EXPECT_EQ(typed(product(DType::bf16, DType::f32), DType::f32), "f32(A) * B");
  EXPECT_EQ(typed(cast(DType::s32, product(DType::u8, DType::s8)), DType::s32), "s32(s16(A) * s16(B))");
  EXPECT_EQ(typed(cast(DType::f32, a(DType::f32)), DType::f32), "A");
  EXPECT_EQ(typed(cast(DType::bf16, product(DType::f32, DType::f32)), DType::f32), "f32(bf16(A * B))");
}

TEST(Constant, TheEndsOfEveryIntegerTypeAreWhatReductionsStartAt) {
  for (const DType type : {DType::s64, DType::u64, DType::s32, DType::u32, DType::s16, DType::s8, DType::u8})
    for (const Reduction reduction : {Reduction::min, Reduction::max}) {
      const Scalar start = identity(reduction, type);
      EXPECT_EQ(evaluate(constant(as_double(type, start), type), nullptr), start) << name(type);
    }
}

TEST(Elaborate, TheTextOfTheResultIsTheResult) {
  const ScalarExpr once = *elaborate(cast(DType::s32, product(DType::u8, DType::s8)), DType::s64, {});
  EXPECT_EQ(*elaborate(once, DType::s64, {}), once);
}

TEST(Elaborate, RefusesWhatWouldLoseValues) {
  EXPECT_EQ(typed(a(DType::f32), DType::bf16), "a value of f32 is used where bf16 is computed: that would lose values");
  EXPECT_EQ(typed(product(DType::f32, DType::s32), DType::f32),
            "a value of s32 is used where f32 is computed: that would lose values");
  EXPECT_EQ(typed(unary(UnaryOp::exp, a(DType::s8)), DType::s32), "exp is computed in s32, but needs a float type");
  EXPECT_EQ(typed(binary(BinaryOp::add, a(DType::s8), constant(0.5, DType::f32)), DType::s8),
            "the constant 0.5 is not a value of s8");
  EXPECT_EQ(typed(binary(BinaryOp::add, a(DType::u64), constant(-1, DType::f32)), DType::u64),
            "the constant -1 is not a value of u64");
  EXPECT_EQ(typed(cast(DType::f32, product(DType::s64, DType::f64)), DType::f32),
            "no type holds every value of both s64 and f64");
  EXPECT_EQ(typed(product(DType::b32, DType::b32), DType::b32), "no arithmetic is defined on b32");
}

TEST(Elaborate, FoldsConstantsInsideCastsAndSigns) {
  EXPECT_EQ(typed(unary(UnaryOp::negate, constant(2, DType::f32)), DType::f32), "-2");
  EXPECT_EQ(typed(cast(DType::s32, constant(2.7, DType::f32)), DType::s32), "2");
  EXPECT_EQ(typed(constant(0.1, DType::f64), DType::f32), "0.1");
  const ScalarExpr third = binary(BinaryOp::div, constant(1, DType::f32), constant(3, DType::f32));
  EXPECT_EQ(typed(cast(DType::bf16, third), DType::f32), "0.33398438");
}

TEST(PrintScalar, ParenthesesKeepTheTree) {
  const ScalarExpr x = a(DType::f32), y = b(DType::f32), z = read(2, DType::f32);
  EXPECT_EQ(print(binary(BinaryOp::sub, x, binary(BinaryOp::sub, y, z)), names), "A - (B - C)");
  EXPECT_EQ(print(binary(BinaryOp::sub, binary(BinaryOp::sub, x, y), z), names), "A - B - C");
  EXPECT_EQ(print(binary(BinaryOp::mul, binary(BinaryOp::add, x, y), z), names), "(A + B) * C");
  EXPECT_EQ(print(binary(BinaryOp::mul, x, unary(UnaryOp::negate, y)), names), "A * (-B)");
  EXPECT_EQ(print(unary(UnaryOp::negate, binary(BinaryOp::mul, x, y)), names), "-(A * B)");
  EXPECT_EQ(print(cast(DType::s8, binary(BinaryOp::max, x, y), true), names), "sat_s8(max(A, B))");
}

TEST(EvaluateScalar, RoundsEveryNodeAndWrapsIntegers) {
  const Scalar floats[] = {{1, 0}, {0x1p-11, 0}};
  EXPECT_EQ(evaluate(binary(BinaryOp::add, a(DType::f16), b(DType::f16)), floats).real, 1.0);
  EXPECT_EQ(evaluate(binary(BinaryOp::add, a(DType::f32), b(DType::f32)), floats).real, 1.0 + 0x1p-11);
  const Scalar integers[] = {{0, 100}, {0, 3}};
  EXPECT_EQ(evaluate(product(DType::s8, DType::s8), integers).integer, 44);
  EXPECT_EQ(evaluate(binary(BinaryOp::div, unary(UnaryOp::negate, a(DType::s8)), b(DType::s8)), integers).integer, -33);
}

TEST(ReadsOf, InOrderOfFirstOccurrence) {
  EXPECT_EQ(reads_of(binary(BinaryOp::add, b(DType::f32), binary(BinaryOp::mul, a(DType::f32), b(DType::f32)))),
            (std::vector<int>{1, 0}));
}

TEST(ReductionIdentity, LeavesEveryValueUnchanged) {
  for (const DType type :
       {DType::f32, DType::e4m3, DType::e5m2, DType::f16, DType::s8, DType::u8, DType::s64, DType::u64}) {
    for (const Reduction r : {Reduction::add, Reduction::mul, Reduction::max, Reduction::min}) {
      for (const double x : {0.0, 1.0, 112.0}) {
        const Scalar value = convert({x, 0}, DType::f64, type, false);
        EXPECT_EQ(combine(r, type, identity(r, type), value), value) << symbol(r) << name(type);
      }
    }
  }
  EXPECT_EQ(identity(Reduction::max, DType::e4m3).real, -448);
  EXPECT_EQ(identity(Reduction::min, DType::u8).integer, 255);
  EXPECT_EQ(combine(Reduction::max, DType::u64, {0, 1}, {0, -1}), (Scalar{0, -1}));  // 2^64 - 1
  EXPECT_EQ(combine(Reduction::saturating_add, DType::u64, {0, -2}, {0, 5}), (Scalar{0, -1}));
  EXPECT_EQ(combine(Reduction::saturating_add, DType::u64, {0, -7}, {0, 5}), (Scalar{0, -2}));
}

}  // namespace
}  // namespace isamap
