// SPDX-License-Identifier: Apache-2.0
#include "isamap/affine.h"

#include <gtest/gtest.h>

#include "isamap/interpret.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

AffineExpr parsed(const std::string& text) {
  auto e = parse_affine(text);
  EXPECT_TRUE(e) << text << "\n" << render(e.diagnostics());
  return e ? *e : AffineExpr();
}

std::string reprinted(const std::string& text) { return print(parsed(text)); }

std::string problem(const std::string& text, const SourceLocation& where = {}) {
  auto e = parse_affine(text, where);
  return e ? "read as " + print(*e) : render(e.diagnostics());
}

AffineExpr random_expr(Random& random, int depth) {
  const std::int64_t kind = depth == 0 ? random.between(0, 1) : random.between(0, 6);
  if (kind == 0) return AffineExpr(random.between(-20, 20));
  if (kind == 1) return AffineExpr::dim(std::string(1, static_cast<char>('i' + random.between(0, 3))));
  if (kind == 2) return random_expr(random, depth - 1) * random.between(-9, 9);
  if (kind == 3) return floordiv(random_expr(random, depth - 1), random.between(1, 12));
  if (kind == 4) return mod(random_expr(random, depth - 1), random.between(1, 12));
  if (kind == 5) return random_expr(random, depth - 1) - random_expr(random, depth - 1);
  return random_expr(random, depth - 1) + random_expr(random, depth - 1);
}

Bindings random_point(Random& random, std::int64_t low, std::int64_t high) {
  Bindings values;
  for (const char* name : {"i", "j", "k", "l"}) values[name] = random.between(low, high);
  return values;
}

TEST(Affine, PrintsSortedSums) {
  EXPECT_EQ(reprinted("3 + j*2 - i + 1"), "-i + 2*j + 4");
  EXPECT_EQ(reprinted("2*(i + 3*(j - 1)) - i"), "i + 6*j - 6");
  EXPECT_EQ(reprinted("i - i"), "0");
  EXPECT_EQ(reprinted("-7"), "-7");
  EXPECT_EQ(reprinted("n.p + $j"), "$j + n.p");
}

TEST(Affine, DivisionsTakeWholeMultiplesOut) {
  EXPECT_EQ(reprinted("(4*i + j + 5)/4"), "i + (j + 1)/4 + 1");
  EXPECT_EQ(reprinted("2*i + (j + 1)/4 - 3"), "2*i + (j + 1)/4 - 3");
  EXPECT_EQ(reprinted("(i - 1)/4"), "(i + 3)/4 - 1");
  EXPECT_EQ(reprinted("(6*i + 4*j + 3)/8"), "(3*i + 2*j + 1)/4");
  EXPECT_EQ(reprinted("(48*t + y)/56"), "(48*t + y)/56");
  EXPECT_EQ(reprinted("-(i/4) + 2*(j/3)"), "-(i/4) + 2*(j/3)");
  EXPECT_EQ(reprinted("j - i/4"), "j - i/4");
}

TEST(Affine, NestedDivisionsMerge) {
  EXPECT_EQ(parsed("i/4/8"), parsed("i/32"));
  EXPECT_EQ(parsed("(i/4 + 3)/8"), parsed("(i + 12)/32"));
  EXPECT_EQ(parsed("(j + k/8)/4"), parsed("(8*j + k)/32"));
  EXPECT_EQ(parsed("(i*32 + j)/4/8"), parsed("i + j/32"));
}

TEST(Affine, RemaindersAreRecognised) {
  EXPECT_EQ(reprinted("i%4"), "i%4");
  EXPECT_EQ(reprinted("k/8%4"), "k/8%4");
  EXPECT_EQ(reprinted("2*(i%4) + i/4"), "i/4 + 2*(i%4)");
  EXPECT_EQ(reprinted("j - i%4"), "j - i%4");
  EXPECT_EQ(reprinted("-(i%4)"), "-(i%4)");
  EXPECT_EQ(reprinted("(p + r)%16/4"), "(p + r)/4%4");
  EXPECT_EQ(reprinted("j%64/8"), "j/8%8");
  EXPECT_EQ(reprinted("(i + 5)%4"), "(i + 1)%4");
}

TEST(Affine, QuotientAndRemainderAddUp) {
  EXPECT_EQ(parsed("(c/7)*7 + c%7"), parsed("c"));
  EXPECT_EQ(parsed("c%32/32"), parsed("0"));
  EXPECT_EQ(parsed("8*(k/8%4) + k%8 + 32*(k/32)"), parsed("k"));
}

TEST(Affine, KnowsWhatItIs) {
  EXPECT_EQ(AffineExpr::dim("i").as_dim(), "i");
  EXPECT_FALSE((AffineExpr::dim("i") * 2).as_dim());
  EXPECT_FALSE((AffineExpr::dim("i") + 1).as_dim());
  EXPECT_TRUE(parsed("i + 2*j").is_linear());
  EXPECT_FALSE(parsed("i + j/2").is_linear());
  EXPECT_EQ(parsed("i + (3*j + k)/4").names(), (std::set<std::string>{"i", "j", "k"}));
  EXPECT_EQ(parsed("5*i - j/2").coefficient("i"), 5);
  EXPECT_EQ(parsed("5*i - j/2").coefficient("j"), 0);
}

TEST(Affine, SubstituteKeepsOtherNames) {
  EXPECT_EQ(print(substitute(parsed("i + j"), {{"i", parsed("2*a")}})), "2*a + j");
  EXPECT_EQ(print(substitute(parsed("i/4 + i%4"), {{"i", parsed("4*a + j")}})), "a + j/4 + j%4");
}

TEST(Affine, BoundsCancelSharedNames) {
  const Ranges ranges{{"i", {0, 99}}, {"j", {-3, 5}}, {"none", {0, -1}}};
  EXPECT_EQ(bounds(parsed("2*i - j + 1"), ranges), (Interval{-4, 202}));
  EXPECT_EQ(bounds(parsed("i%4"), ranges), (Interval{0, 3}));
  EXPECT_EQ(bounds(parsed("i%12/8"), ranges), (Interval{0, 1}));
  EXPECT_EQ(bounds(parsed("(j + 2*i + 2*((i + 7*j)/2))%3"), ranges), (Interval{0, 2}));
  EXPECT_EQ(bounds(parsed("(j + 2*((64*i + j)/132))%3"), ranges), (Interval{0, 2}));
  EXPECT_EQ(bounds(parsed("2*(i/3%2)"), ranges), (Interval{0, 2}));
  EXPECT_EQ(bounds(parsed("2*((j + i/2)%2)"), ranges), (Interval{0, 2}));
  EXPECT_EQ(bounds(parsed("i - 4*(i/4) + 10*j"), ranges), (Interval{-30, 53}));
  EXPECT_EQ(bounds(parsed("32*(i/4%2) + i/64"), ranges), (Interval{0, 33}));
  EXPECT_EQ(bounds(parsed("i + x"), ranges), std::nullopt);
  EXPECT_EQ(bounds(parsed("i + none"), ranges), (Interval{0, -1}));
}

TEST(Affine, SimplifyUsesRanges) {
  const Ranges ranges{{"t", {0, 9}}, {"y", {0, 15}}, {"k", {0, 7}}, {"j", {0, 99}}};
  const auto simple = [&](const std::string& text) { return print(simplify(parsed(text), ranges)); };
  EXPECT_EQ(simple("(16*t + y)/16"), "t");
  EXPECT_EQ(simple("(16*t + y)%16"), "y");
  EXPECT_EQ(simple("(8*j + k)/32"), "j/4");
  EXPECT_EQ(simple("(8*j + k)%32"), "k + 8*(j%4)");
  EXPECT_EQ(simple("(7 - k)/8"), "0");
  EXPECT_EQ(simple("(3*k)/32 + 5"), "5");
  EXPECT_EQ(simple("(48*t + y)/16 + j/100"), "3*t");
  EXPECT_EQ(simple("(y + 1)/16"), "(y + 1)/16");
  EXPECT_EQ(simple("x/4"), "x/4");
  EXPECT_EQ(simple("(4*y + k%4)/64 + (4*y + k%4)/4"), "y");
}

TEST(Affine, Errors) {
  EXPECT_EQ(problem("i*j", {"a.yaml", 3, 10}),
            "a.yaml:3:11: '*' between 'i' and 'j' is not affine; one side must be a constant\n");
  EXPECT_EQ(problem("i/0", {"a.yaml", 3, 10}), "a.yaml:3:11: '/' by '0'; the divisor must be a positive constant\n");
  EXPECT_EQ(problem("i + ", {"a.yaml", 3, 10}), "a.yaml:3:14: expected a name, a number or '(', found the end\n");
  EXPECT_EQ(problem("i + 2i"), "'2i' is not a number\n    i + 2i\n        ^\n");
  EXPECT_EQ(problem("i j"), "unexpected 'j' after the end\n    i j\n      ^\n");
  EXPECT_EQ(problem("i%-4"), "'%' by '-4'; the divisor must be a positive constant\n    i%-4\n     ^\n");
  EXPECT_EQ(problem("1048577*1048577*i"), "a coefficient exceeds 2^40\n    1048577*1048577*i\n           ^\n");
  EXPECT_EQ(problem("99999999999999999999"),
            "number is too large; at most 1099511627776 is read here\n    99999999999999999999\n    ^\n");
}

TEST(Affine, HostileTextsEndQuickly) {
  EXPECT_NE(problem(std::string(100, '(') + "i").find("nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(problem(std::string(70000, ' ')).find("text of 70000 bytes"), std::string::npos);
  std::string remainders = "i";
  for (int c = 3; c < 200; c += 2) remainders += "%" + std::to_string(c);
  EXPECT_NE(problem(remainders).find("more than 512 terms"), std::string::npos);
  std::string chain = "i", names = "a";
  for (int n = 0; n < 8000; ++n) chain += "/3*2";
  for (int n = 0; n < 8000; ++n) names += "+a" + std::to_string(n);
  EXPECT_NE(problem(chain).find("divisions nested deeper than 64"), std::string::npos);
  EXPECT_NE(problem(names).find("more than 512 terms"), std::string::npos);
  EXPECT_EQ(reprinted("i" + std::string(64, ' ') + "/1099511627776/1099511627776"), "i/1099511627776/1099511627776");
  EXPECT_NE(problem(std::string("i\0\xff", 3)).find("unexpected byte 0"), std::string::npos);
}

TEST(Affine, ConstantsAreReplacedWhileReading) {
  const auto e = parse_affine("N*i + i/N", {}, {{"N", 8}});
  ASSERT_TRUE(e);
  EXPECT_EQ(print(*e), "8*i + i/8");
}

// Laws on random expressions: the value of every construction, canonical equality, text, ranges.
TEST(AffineLaw, OperationsMeanWhatTheySay) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const AffineExpr a = random_expr(random, 4), b = random_expr(random, 3);
    const std::int64_t c = random.between(1, 40);
    const Bindings at = random_point(random, -100, 100);
    const std::int64_t x = evaluate(a, at), y = evaluate(b, at);
    ASSERT_EQ(evaluate(a + b, at), x + y);
    ASSERT_EQ(evaluate(a * -3, at), -3 * x);
    ASSERT_EQ(evaluate(floordiv(a, c), at), floor_div(x, c)) << print(a) << " by " << c;
    ASSERT_EQ(evaluate(mod(a, c), at), floor_mod(x, c)) << print(a) << " by " << c;
    ASSERT_EQ(floordiv(a, c) * c + mod(a, c), a);
    ASSERT_EQ(floordiv(a * c, c), a);
    const AffineExpr into = substitute(a, {{"i", b}});
    Bindings moved = at;
    moved["i"] = y;
    ASSERT_EQ(evaluate(into, at), evaluate(a, moved)) << print(a) << " with i = " << print(b);
  }
}

TEST(AffineLaw, DivisionsInSequenceAreOne) {
  Random random(2);
  for (int round = 0; round < 2000; ++round) {
    const AffineExpr a = random_expr(random, 2);
    if (!a.is_linear()) continue;
    const std::int64_t c = random.between(1, 12), d = random.between(1, 12);
    ASSERT_EQ(floordiv(floordiv(a, c), d), floordiv(a, c * d)) << print(a) << " by " << c << " and " << d;
  }
}

TEST(AffineLaw, EqualExpressionsAreThoseThatNoOrderTellsApart) {
  Random random(6);
  int equal = 0;
  for (int round = 0; round < 3000; ++round) {
    const AffineExpr a = random_expr(random, 2), b = random_expr(random, 2), copied = a;
    EXPECT_EQ(a == b, (a <=> b) == 0) << print(a) << " and " << print(b);
    EXPECT_TRUE(a == copied) << print(a);
    EXPECT_FALSE(a == a + 1) << print(a);
    equal += a == b ? 1 : 0;
  }
  EXPECT_GT(equal, 20);
}

TEST(AffineLaw, PrintedTextReadsBack) {
  Random random(3);
  for (int round = 0; round < 4000; ++round) {
    const AffineExpr e = random_expr(random, 5);
    const auto again = parse_affine(print(e));
    ASSERT_TRUE(again) << render(again.diagnostics());
    ASSERT_EQ(*again, e) << print(e) << " against " << print(*again);
  }
}

TEST(AffineLaw, BoundsContainAndSimplifyKeepsValues) {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    const AffineExpr e = random_expr(random, 4);
    Ranges ranges;
    for (const char* name : {"i", "j", "k", "l"}) {
      const std::int64_t low = random.between(-5, 10);
      ranges[name] = {low, low + random.between(0, 20)};
    }
    const auto interval = bounds(e, ranges);
    ASSERT_TRUE(interval);
    const AffineExpr simple = simplify(e, ranges);
    for (int point = 0; point < 20; ++point) {
      Bindings at;
      for (const auto& [name, range] : ranges) at[name] = random.between(range.low, range.high);
      const std::int64_t value = evaluate(e, at);
      ASSERT_LE(interval->low, value) << print(e);
      ASSERT_GE(interval->high, value) << print(e);
      ASSERT_EQ(evaluate(simple, at), value) << print(e) << " as " << print(simple);
    }
  }
}

TEST(AffineLaw, CompiledIsEvaluated) {
  Random random(5);
  const std::vector<std::string> names{"l", "k", "unused", "j", "i"};
  for (int round = 0; round < 2000; ++round) {
    const AffineExpr e = random_expr(random, 5);
    const CompiledAffine compiled(e, names);
    const Bindings at = random_point(random, -50, 50);
    const std::int64_t values[] = {at.at("l"), at.at("k"), 7, at.at("j"), at.at("i")};
    ASSERT_EQ(compiled(values), evaluate(e, at)) << print(e);
    ASSERT_EQ(compiled.is_linear(), e.is_linear());
    if (e.is_linear()) {
      ASSERT_EQ(compiled.coefficient(3), e.coefficient("j"));
    }
  }
}

}  // namespace
}  // namespace isamap
