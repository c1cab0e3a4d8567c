// SPDX-License-Identifier: Apache-2.0
// Simplification by ranges of names: the interval of an expression, and redundant floor divisions.
//
// A sum of the terms' intervals ignores shared names: i - 4*(i/4) with i in [0, 99] would be in [-96, 99]. So divisions
// that share names with the other terms are also treated as rationals,
//
//   d*floor(n/d) = n - (n mod d)   with   n mod d in [0, d-1],
//
// which cancels i and gives [0, 3]; the two intervals are intersected.

#include <algorithm>
#include <numeric>
#include <vector>

#include "isamap/affine.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

using Wide = __int128;

constexpr std::int64_t range_limit = INT64_MAX / 4;  // intervals saturate here
constexpr std::int64_t scale_limit = std::int64_t{1} << 50;
constexpr int relaxed_depth = 3;  // at deeper divisions, intervals are only summed: keeps the work linear

std::int64_t saturated(Wide value) {
  return static_cast<std::int64_t>(std::clamp(value, static_cast<Wide>(-range_limit), static_cast<Wide>(range_limit)));
}

constexpr Interval no_value{0, -1};
bool is_empty(const Interval& interval) { return interval.low > interval.high; }

Interval operator+(const Interval& a, const Interval& b) {
  if (is_empty(a) || is_empty(b)) return no_value;
  return {saturated(Wide{a.low} + b.low), saturated(Wide{a.high} + b.high)};
}

Interval operator*(std::int64_t c, const Interval& a) {
  if (is_empty(a)) return no_value;
  const Wide x = Wide{c} * a.low, y = Wide{c} * a.high;
  return {saturated(std::min(x, y)), saturated(std::max(x, y))};
}

std::int64_t largest_coefficient(const AffineExpr& e) {
  std::int64_t result = 1;
  for (const AffineTerm& term : e.terms())
    result = std::max(result, term.coefficient < 0 ? -(term.coefficient + 1) : term.coefficient);
  return result;
}

std::optional<Interval> bounds_to(int depth, const AffineExpr& e, const Ranges& ranges);

// The sum of the terms' intervals.
std::optional<Interval> sum_of_terms(int depth, const AffineExpr& e, const Ranges& ranges) {
  Interval sum{e.constant(), e.constant()};
  for (const AffineTerm& term : e.terms()) {
    Interval of_atom;
    if (const FloorDiv* div = division(term)) {
      const auto numerator = bounds_to(depth - 1, *div->numerator, ranges);
      if (!numerator) return std::nullopt;
      of_atom = is_empty(*numerator)
                    ? no_value
                    : Interval{floor_div(numerator->low, div->divisor), floor_div(numerator->high, div->divisor)};
    } else {
      const auto range = ranges.find(std::get<std::string>(term.atom));
      if (range == ranges.end()) return std::nullopt;
      of_atom = range->second;
    }
    sum = sum + term.coefficient * of_atom;
  }
  return sum;
}

// scale * e is in `rest` + slack.
struct Relaxed {
  AffineExpr rest;
  std::int64_t scale = 1;
  Interval slack;
};

bool shares_names(const AffineExpr& e, const AffineTerm& term) {
  const AffineExpr others = e - AffineExpr::of(term);
  const std::set<std::string> names = others.names();
  for (const std::string& name : division(term)->numerator->names())
    if (names.count(name)) return true;
  return false;
}

/// The division to eliminate first: the last one, or the one of the longest sum. n - 3*(n/3) is in [0, 2] for any n,
/// divisions inside n included, unless those are eliminated before.
enum class Order { last, longest };

std::size_t size_of(const AffineExpr& e) {
  std::size_t size = 0;
  for (const AffineTerm& term : e.terms()) size += 1 + (division(term) ? size_of(*division(term)->numerator) : 0);
  return size;
}

std::vector<AffineTerm> divisions(const AffineExpr& e, Order order) {
  std::vector<AffineTerm> found;
  for (auto term = e.terms().rbegin(); term != e.terms().rend() && division(*term); ++term) found.push_back(*term);
  if (order == Order::longest)
    std::stable_sort(found.begin(), found.end(), [](const AffineTerm& a, const AffineTerm& b) {
      return size_of(*division(a)->numerator) > size_of(*division(b)->numerator);
    });
  return found;
}

// Replaces one division by a rational. False when none shares names with the other terms, or numbers would grow too
// large.
bool relax(Relaxed& relaxed, Order order) {
  const AffineExpr e = relaxed.rest;
  const auto candidates = divisions(e, order);
  for (auto term = candidates.begin(); term != candidates.end(); ++term) {
    const FloorDiv* div = division(*term);
    if (!shares_names(e, *term)) continue;
    const Wide size = Wide{div->divisor} * std::max({relaxed.scale, largest_coefficient(e), std::abs(e.constant())});
    const std::int64_t c = term->coefficient;
    if (size > scale_limit || Wide{c} * div->divisor > scale_limit || Wide{c} * div->divisor < -scale_limit)
      return false;
    relaxed.rest = (e - AffineExpr::of(*term)) * div->divisor + *div->numerator * c;
    relaxed.slack = div->divisor * relaxed.slack + c * Interval{-(div->divisor - 1), 0};
    relaxed.scale *= div->divisor;
    return true;
  }
  return false;
}

std::optional<Interval> relaxed_bounds(int depth, const AffineExpr& e, const Ranges& ranges, Order order) {
  Relaxed relaxed{e, 1, {0, 0}};
  for (int steps = 0; steps < 16 && relax(relaxed, order);) ++steps;
  if (relaxed.scale == 1) return std::nullopt;
  const auto rest = sum_of_terms(depth, relaxed.rest, ranges);
  if (!rest) return std::nullopt;
  const Interval scaled = *rest + relaxed.slack;
  if (is_empty(scaled)) return no_value;
  return Interval{ceil_div(scaled.low, relaxed.scale), floor_div(scaled.high, relaxed.scale)};
}

bool has_several_divisions(const AffineExpr& e) {  // they are the last terms
  return e.terms().size() > 1 && division(e.terms()[e.terms().size() - 2]) != nullptr;
}

std::optional<Interval> bounds_to(int depth, const AffineExpr& e, const Ranges& ranges) {
  const auto direct = sum_of_terms(depth, e, ranges);
  if (!direct || depth <= 0 || e.terms().size() < 2 || e.is_linear()) return direct;
  Interval best = *direct;
  for (const Order order : {Order::last, Order::longest}) {
    if (order == Order::longest && !has_several_divisions(e)) break;
    if (const auto relaxed = relaxed_bounds(depth, e, ranges, order))
      best = {std::max(best.low, relaxed->low), std::min(best.high, relaxed->high)};
  }
  return best;
}

// floor(e/d) if it is constant.
std::optional<std::int64_t> constant_quotient(const AffineExpr& e, std::int64_t d, const Ranges& ranges) {
  const auto range = bounds(e, ranges);
  if (!range || is_empty(*range) || range->high >= range_limit || range->low <= -range_limit) return std::nullopt;
  const std::int64_t low = floor_div(range->low, d);
  return low == floor_div(range->high, d) ? std::optional(low) : std::nullopt;
}

// n = d*whole + rest with every coefficient of the rest of one sign: (3*i)/4 is also i + (-i)/4.
std::optional<AffineExpr> constant_with_sign(const AffineExpr& n, std::int64_t d, int sign, const Ranges& ranges) {
  AffineExpr whole;
  for (const AffineTerm& term : n.terms())
    if ((term.coefficient < 0) != (sign < 0)) whole += AffineExpr::of({-sign, term.atom});
  if (whole.is_constant()) return std::nullopt;
  if (const auto q = constant_quotient(n - whole * d, d, ranges)) return whole + *q;
  return std::nullopt;
}

// floor((g*a + r)/d) = floor((a + q)/(d/g)) when g divides d and floor(r/g) = q everywhere.
std::optional<AffineExpr> without_small_part(const AffineExpr& n, std::int64_t d, const Ranges& ranges) {
  std::int64_t tried = 1;
  for (const AffineTerm& candidate : n.terms()) {
    const std::int64_t g = std::gcd(candidate.coefficient, d);
    if (g == 1 || g == tried) continue;
    tried = g;
    AffineExpr whole, small(n.constant());
    for (const AffineTerm& term : n.terms())
      if (term.coefficient % g == 0)
        whole += AffineExpr::of({term.coefficient / g, term.atom});
      else
        small += AffineExpr::of(term);
    if (const auto q = constant_quotient(small, g, ranges)) return floordiv(whole + *q, d / g);
  }
  return std::nullopt;
}

std::optional<AffineExpr> simpler(const FloorDiv& div, const Ranges& ranges) {
  const AffineExpr& n = *div.numerator;
  if (const auto q = constant_quotient(n, div.divisor, ranges)) return AffineExpr(*q);
  for (const int sign : {1, -1})
    if (auto e = constant_with_sign(n, div.divisor, sign, ranges)) return e;
  return without_small_part(n, div.divisor, ranges);
}

bool all_multiples(const AffineExpr& e, std::int64_t d) {
  return e.constant() % d == 0 &&
         std::all_of(e.terms().begin(), e.terms().end(), [&](const AffineTerm& t) { return t.coefficient % d == 0; });
}

/// (n + d*m)/(d*c) as (q + m)/c, where q = n/d is a quotient with this name. Nothing: it is no such quotient.
std::optional<AffineExpr> quotient_of(const AffineExpr& q, const FloorDiv& a, const FloorDiv& b) {
  if (b.divisor <= a.divisor || b.divisor % a.divisor != 0) return std::nullopt;
  const AffineExpr rest = *b.numerator - *a.numerator;
  if (!all_multiples(rest, a.divisor)) return std::nullopt;
  AffineExpr whole(rest.constant() / a.divisor);
  for (const AffineTerm& t : rest.terms()) whole += AffineExpr::of({t.coefficient / a.divisor, t.atom});
  return floordiv(whole + q, b.divisor / a.divisor);
}

/// e in terms of one of its quotients q = n/d, of which others are multiples: (d*m + n)/(d*c) is (m + q)/c. Then
/// 2*(n/3) - 4*(n/6) is 2*(q - 2*(q/2)), which is in [0, 2]. The smallest divisor first: all its multiples are then
/// divisions of one name. Nothing: there are no such quotients.
std::optional<AffineExpr> with_quotient_named(const AffineExpr& e, Ranges& ranges) {
  std::vector<AffineTerm> all = divisions(e, Order::last);
  std::stable_sort(all.begin(), all.end(), [](const AffineTerm& a, const AffineTerm& b) {
    return division(a)->divisor < division(b)->divisor;
  });
  const std::string name = "#q" + std::to_string(ranges.size());
  const AffineExpr q = AffineExpr::dim(name);
  for (const AffineTerm& small : all) {
    AffineExpr made = e - AffineExpr::of(small) + q * small.coefficient;
    bool found = false;
    for (const AffineTerm& large : all)
      if (const auto of_q = quotient_of(q, *division(small), *division(large))) {
        made += *of_q * large.coefficient - AffineExpr::of(large);
        found = true;
      }
    const auto range = found ? bounds(AffineExpr::of({1, small.atom}), ranges) : std::nullopt;
    if (!range || is_empty(*range)) continue;
    ranges[name] = *range;
    return made;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Interval> bounds(const AffineExpr& e, const Ranges& ranges) {
  const auto direct = bounds_to(relaxed_depth, e, ranges);
  if (!direct || !has_several_divisions(e)) return direct;
  Ranges more = ranges;
  const auto named = with_quotient_named(e, more);
  const auto other = named ? bounds(*named, more) : std::nullopt;
  if (!other) return direct;
  return Interval{std::max(direct->low, other->low), std::min(direct->high, other->high)};
}

AffineExpr simplify(const AffineExpr& e, const Ranges& ranges) {
  if (e.is_linear()) return e;
  AffineExpr result(e.constant());
  for (const AffineTerm& term : e.terms()) {
    const FloorDiv* div = division(term);
    if (!div) {
      result += AffineExpr::of(term);
      continue;
    }
    const AffineExpr quotient = floordiv(simplify(*div->numerator, ranges), div->divisor);
    for (const AffineTerm& part : quotient.terms()) {
      const FloorDiv* left = division(part);
      const auto found = left ? simpler(*left, ranges) : std::nullopt;
      const AffineExpr value = found ? simplify(*found, ranges) : AffineExpr::of({1, part.atom});
      result.add(value * part.coefficient, term.coefficient);
    }
    result.add(quotient.constant(), term.coefficient);
  }
  return result;
}

void narrow(Ranges& ranges, const AffineExpr& e) {
  const std::set<std::string> names = e.names();
  if (names.size() != 1 || !e.is_linear()) return;
  const auto range = ranges.find(*names.begin());
  if (range == ranges.end()) return;
  const std::int64_t coefficient = e.coefficient(range->first);
  if (coefficient == 1) range->second.low = std::max(range->second.low, -e.constant());
  if (coefficient == -1) range->second.high = std::min(range->second.high, e.constant());
}

}  // namespace isamap
