// SPDX-License-Identifier: Apache-2.0
#include "ir/symbolic/known_bounds.h"

#include <gtest/gtest.h>

#include "isamap/interpret.h"

namespace isamap {
namespace {

AffineExpr read(const std::string& text) { return *parse_affine(text); }

bool known(const std::string& e, const Ranges& ranges, const std::vector<std::string>& facts) {
  std::vector<AffineExpr> all;
  for (const std::string& fact : facts) all.push_back(read(fact));
  return nonnegative(read(e), ranges, all);
}

TEST(KnownBounds, ADivisionIsBoundedByWhatItsNumeratorIs) {
  const Ranges ranges{{"a", {0, 7}}, {"b", {0, 15}}};
  EXPECT_FALSE(known("1 - (16*a + b)/63", ranges, {}));
  EXPECT_TRUE(known("1 - (16*a + b)/63", ranges, {"125 - 16*a - b"}));
  EXPECT_FALSE(known("1 - (16*a + b)/63", ranges, {"126 - 16*a - b"}));
  EXPECT_TRUE(known("(16*a + b)/63 - 1", ranges, {"16*a + b - 63"}));
}

TEST(KnownBounds, FactsCountInLowestTermsAndPartsOfANumeratorTogether) {
  const Ranges ranges{{"a", {0, 3}}, {"b", {0, 6}}};
  EXPECT_TRUE(known("2 - (a + 4*b + 8)/9", ranges, {"144 - 8*a - 32*b"}));
  EXPECT_TRUE(known("8 - 3*a - (5*a + b)/9", {{"a", {0, 2}}, {"b", {0, 31}}}, {"80 - 32*a - b"}));
}

TEST(KnownBounds, HoldWhereverTheFactsDo) {
  Random random(4);
  int proved = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto term = [&](std::int64_t most) { return random.between(-most, most); };
    const AffineExpr a = AffineExpr::dim("a"), b = AffineExpr::dim("b");
    const AffineExpr fact = a * term(8) + b * term(8) + random.between(-20, 60);
    const AffineExpr e = floordiv(a * term(16) + b * term(8) + term(9), random.between(1, 12)) * term(3) + a * term(4) +
                         random.between(-5, 30);
    const Ranges ranges{{"a", {0, 5}}, {"b", {0, 6}}};
    if (!nonnegative(e, ranges, {fact})) continue;
    ++proved;
    for (std::int64_t x = 0; x <= 5; ++x)
      for (std::int64_t y = 0; y <= 6; ++y)
        if (const Bindings at{{"a", x}, {"b", y}}; evaluate(fact, at) >= 0) {
          ASSERT_GE(evaluate(e, at), 0) << print(e) << " where " << print(fact);
        }
  }
  EXPECT_GT(proved, 200);
}

}  // namespace
}  // namespace isamap
