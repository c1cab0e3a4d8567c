// SPDX-License-Identifier: Apache-2.0
#include "ir/symbolic/known_bounds.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "support/arithmetic.h"

namespace isamap {

namespace {

bool exceeds_one(const AffineExpr& e, const Ranges& ranges, const std::vector<AffineExpr>& known) {
  return std::any_of(known.begin(), known.end(), [&](const AffineExpr& one) {
    const auto more = bounds(simplify(e - one, ranges), ranges);
    return more && more->low >= 0;
  });
}

/// `e` / g >= 0 is equivalent to `e` >= 0 if g divides all coefficients: 208 - 8*a - 32*b gives 26 - a - 4*b.
AffineExpr in_lowest_terms(const AffineExpr& e) {
  std::int64_t g = 0;
  for (const AffineTerm& term : e.terms()) g = std::gcd(g, term.coefficient);
  if (g <= 1) return e;
  AffineExpr lowest = floor_div(e.constant(), g);
  for (const AffineTerm& term : e.terms()) {
    const auto* name = std::get_if<std::string>(&term.atom);
    const auto* division = std::get_if<FloorDiv>(&term.atom);
    lowest +=
        (name ? AffineExpr::dim(*name) : floordiv(*division->numerator, division->divisor)) * (term.coefficient / g);
  }
  return lowest;
}

/// The multiple of `one` in `x`, by their first common dim; 1 without a common dim.
std::int64_t times(const AffineExpr& x, const AffineExpr& one) {
  for (const AffineTerm& term : one.terms())
    if (const auto* name = std::get_if<std::string>(&term.atom); name && x.coefficient(*name) != 0)
      return std::max<std::int64_t>(std::abs(x.coefficient(*name) / term.coefficient), 1);
  return 1;
}

/// Values of `x`, narrowed by each known expression: from k >= 0 follow x >= x - t*k and x <= x + t*k for any t >= 0.
std::optional<Interval> narrowed(const AffineExpr& x, const Ranges& ranges, const std::vector<AffineExpr>& known) {
  auto range = bounds(simplify(x, ranges), ranges);
  if (!range) return range;
  for (const AffineExpr& fact : known) {
    const AffineExpr lowest = in_lowest_terms(fact), one = lowest * times(x, lowest);
    const auto least = bounds(simplify(x - one, ranges), ranges), most = bounds(simplify(x + one, ranges), ranges);
    if (least) range->low = std::max(range->low, least->low);
    if (most) range->high = std::min(range->high, most->high);
  }
  return range;
}

/// The dims of `e` whose coefficients `factor` divides, divided by it: 3*a + (5*a + b)/9 is (32*a + b)/9, and only that
/// numerator may be known.
AffineExpr multiples(const AffineExpr& e, std::int64_t factor) {
  AffineExpr common;
  for (const AffineTerm& term : e.terms())
    if (const auto* name = std::get_if<std::string>(&term.atom); name && term.coefficient % factor == 0)
      common += AffineExpr::dim(*name) * (term.coefficient / factor);
  return common;
}

}  // namespace

bool nonnegative(const AffineExpr& e, const Ranges& ranges, const std::vector<AffineExpr>& known) {
  const AffineExpr simple = simplify(e, ranges);
  const auto range = bounds(simple, ranges);
  if (range && range->low >= 0) return true;
  if (known.empty()) return false;
  if (exceeds_one(simple, ranges, known)) return true;
  for (const AffineTerm& term : simple.terms()) {
    const auto* division = std::get_if<FloorDiv>(&term.atom);
    if (division == nullptr) continue;
    const AffineExpr rest = simple - floordiv(*division->numerator, division->divisor) * term.coefficient;
    const AffineExpr common = multiples(rest, term.coefficient);
    for (const AffineExpr& joined : {AffineExpr(0), common}) {
      const AffineExpr whole = *division->numerator + joined * division->divisor;
      const auto numerator = narrowed(whole, ranges, known);
      const auto others = bounds(simplify(rest - joined * term.coefficient, ranges), ranges);
      if (!numerator || !others) continue;
      const std::int64_t extreme = term.coefficient < 0 ? numerator->high : numerator->low;
      if (others->low + term.coefficient * floor_div(extreme, division->divisor) >= 0) return true;
    }
  }
  return false;
}

}  // namespace isamap
