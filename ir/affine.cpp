// SPDX-License-Identifier: Apache-2.0
// The algebra of quasi-affine expressions. Sums merge sorted terms; floordiv brings floor(numerator/divisor) to a
// canonical form by four identities, each exact for all integers:
//
//   floor((d*a + r)/d)        = a + floor(r/d)
//   floor((g*a + r)/(g*d))    = floor((a + floor(r/g))/d)
//   floor(floor(m/a)/b)       = floor(m/(a*b))
//   floor((x + floor(m/a))/b) = floor((a*x + m)/(a*b))      (the one before, with x = 0)
//
// (Graham, Knuth, Patashnik, "Concrete Mathematics", section 3.2.)

#include "isamap/affine.h"

#include <algorithm>
#include <numeric>

#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {

namespace {

// Divisors of merged divisions stay below this, so that printed text can be parsed again.
constexpr std::int64_t max_divisor = std::int64_t{1} << 40;

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

using Atom = std::variant<std::string, FloorDiv>;

std::strong_ordering compare(const FloorDiv& a, const FloorDiv& b) {
  if (a.numerator != b.numerator)
    if (const auto order = *a.numerator <=> *b.numerator; order != 0) return order;
  return a.divisor <=> b.divisor;
}

// Names before divisions.
std::strong_ordering compare(const Atom& a, const Atom& b) {
  if (a.index() != b.index()) return a.index() <=> b.index();
  if (const auto* name = std::get_if<std::string>(&a)) return name->compare(std::get<std::string>(b)) <=> 0;
  return compare(std::get<FloorDiv>(a), std::get<FloorDiv>(b));
}

bool equal(const Atom& a, const Atom& b) {
  if (a.index() != b.index()) return false;
  if (const auto* name = std::get_if<std::string>(&a)) return *name == std::get<std::string>(b);
  const auto &x = std::get<FloorDiv>(a), &y = std::get<FloorDiv>(b);
  return x.divisor == y.divisor && (x.numerator == y.numerator || *x.numerator == *y.numerator);
}

std::int64_t gcd_of_coefficients(const AffineExpr& e, std::int64_t with) {
  for (const AffineTerm& term : e.terms()) with = std::gcd(with, term.coefficient);
  return with;
}

// The first floor(m/a) with coefficient 1 that can be merged into a division by `divisor`.
const FloorDiv* mergeable(const AffineExpr& e, std::int64_t divisor) {
  for (const AffineTerm& term : e.terms()) {
    const FloorDiv* inner = division(term);
    if (inner && term.coefficient == 1 && inner->divisor <= max_divisor / divisor) return inner;
  }
  return nullptr;
}

void collect_names(const AffineExpr& e, std::set<std::string>& names) {
  for (const AffineTerm& term : e.terms()) {
    if (const FloorDiv* div = division(term))
      collect_names(*div->numerator, names);
    else
      names.insert(std::get<std::string>(term.atom));
  }
}

}  // namespace

AffineExpr AffineExpr::dim(std::string name) {
  AffineExpr e;
  e.terms_.push_back({1, std::move(name)});
  return e;
}

AffineExpr AffineExpr::of(AffineTerm term) {
  AffineExpr e;
  e.terms_.push_back(std::move(term));
  return e;
}

bool AffineExpr::is_linear() const { return terms_.empty() || !division(terms_.back()); }

std::optional<std::string> AffineExpr::as_dim() const {
  if (terms_.size() != 1 || constant_ != 0 || terms_[0].coefficient != 1 || division(terms_[0])) return std::nullopt;
  return std::get<std::string>(terms_[0].atom);
}

std::int64_t AffineExpr::coefficient(const std::string& name) const {
  for (const AffineTerm& term : terms_) {
    const auto* dim_name = std::get_if<std::string>(&term.atom);
    if (dim_name && *dim_name == name) return term.coefficient;
  }
  return 0;
}

std::set<std::string> AffineExpr::names() const {
  std::set<std::string> result;
  collect_names(*this, result);
  return result;
}

AffineExpr& AffineExpr::add(const AffineExpr& other, std::int64_t times) {
  if (times == 0) return *this;
  if (&other == this) return *this = scaled(wrapping_add(times, 1));
  constant_ = wrapping_add(constant_, wrapping_mul(other.constant_, times));
  // Most sums add few terms to few: each is inserted in place, searched from the last insertion.
  std::size_t at = 0;
  if (terms_.empty()) terms_.reserve(other.terms_.size());
  for (const AffineTerm& term : other.terms_) {
    const std::int64_t more = wrapping_mul(term.coefficient, times);
    auto order = std::strong_ordering::greater;
    while (at < terms_.size() && (order = compare(terms_[at].atom, term.atom)) < 0) ++at;
    const auto here = terms_.begin() + static_cast<std::ptrdiff_t>(at);
    if (at == terms_.size() || order > 0) {
      if (more != 0) terms_.insert(here, {more, term.atom}), ++at;
    } else if (here->coefficient = wrapping_add(here->coefficient, more); here->coefficient == 0) {
      terms_.erase(here);
    } else {
      ++at;
    }
  }
  return *this;
}

AffineExpr AffineExpr::scaled(std::int64_t factor) const {
  AffineExpr e;
  if (factor == 0) return e;
  e.constant_ = wrapping_mul(constant_, factor);
  e.terms_.reserve(terms_.size());
  for (const AffineTerm& term : terms_)
    if (const std::int64_t c = wrapping_mul(term.coefficient, factor)) e.terms_.push_back({c, term.atom});
  return e;
}

std::strong_ordering operator<=>(const AffineExpr& a, const AffineExpr& b) {
  if (&a == &b) return std::strong_ordering::equal;
  const std::size_t common = std::min(a.terms_.size(), b.terms_.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (const auto order = compare(a.terms_[i].atom, b.terms_[i].atom); order != 0) return order;
    if (const auto order = a.terms_[i].coefficient <=> b.terms_[i].coefficient; order != 0) return order;
  }
  if (const auto order = a.terms_.size() <=> b.terms_.size(); order != 0) return order;
  return a.constant_ <=> b.constant_;
}

// Numbers before atoms: unequal expressions mostly differ there.
bool operator==(const AffineExpr& a, const AffineExpr& b) {
  if (&a == &b) return true;
  return a.constant_ == b.constant_ && std::equal(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end(),
                                                  [](const AffineTerm& x, const AffineTerm& y) {
                                                    return x.coefficient == y.coefficient && equal(x.atom, y.atom);
                                                  });
}

AffineExpr floordiv(const AffineExpr& a, std::int64_t divisor) {
  ISAMAP_CHECK(divisor >= 1, "floordiv by " + std::to_string(divisor));
  if (divisor == 1) return a;
  AffineExpr whole(floor_div(a.constant_, divisor));
  AffineExpr rest(floor_mod(a.constant_, divisor));
  for (const AffineTerm& term : a.terms_) {  // division towards 0: the remainder keeps the sign of the coefficient
    if (const std::int64_t q = term.coefficient / divisor) whole.terms_.push_back({q, term.atom});
    if (const std::int64_t r = term.coefficient % divisor) rest.terms_.push_back({r, term.atom});
  }
  if (rest.is_constant()) return whole;
  if (const std::int64_t g = gcd_of_coefficients(rest, divisor); g > 1) {
    for (AffineTerm& term : rest.terms_) term.coefficient /= g;
    rest.constant_ = floor_div(rest.constant_, g);
    return whole + floordiv(rest, divisor / g);
  }
  if (const FloorDiv* found = mergeable(rest, divisor)) {
    const FloorDiv inner = *found;
    AffineExpr others = rest;
    std::erase_if(others.terms_,
                  [&](const AffineTerm& term) { return division(term) && compare(*division(term), inner) == 0; });
    return whole + floordiv(others * inner.divisor + *inner.numerator, inner.divisor * divisor);
  }
  AffineExpr quotient;
  quotient.terms_.push_back({1, FloorDiv{std::make_shared<const AffineExpr>(std::move(rest)), divisor}});
  return whole + quotient;
}

AffineExpr mod(const AffineExpr& a, std::int64_t divisor) {
  AffineExpr rest = a;
  return std::move(rest.add(floordiv(a, divisor), -divisor));
}

std::int64_t evaluate(const AffineExpr& e, const Bindings& values) {
  std::int64_t result = e.constant();
  for (const AffineTerm& term : e.terms()) {
    const std::int64_t value = std::visit(
        overloaded{[&](const std::string& name) {
                     const auto found = values.find(name);
                     ISAMAP_CHECK(found != values.end(), "no value for '" + name + "' in " + print(e));
                     return found->second;
                   },
                   [&](const FloorDiv& div) { return floor_div(evaluate(*div.numerator, values), div.divisor); }},
        term.atom);
    result = wrapping_add(result, wrapping_mul(term.coefficient, value));
  }
  return result;
}

AffineExpr substitute(const AffineExpr& e, const std::map<std::string, AffineExpr>& by) {
  AffineExpr result(e.constant());
  for (const AffineTerm& term : e.terms()) {
    if (const FloorDiv* div = division(term)) {
      result.add(floordiv(substitute(*div->numerator, by), div->divisor), term.coefficient);
      continue;
    }
    const auto found = by.find(std::get<std::string>(term.atom));
    if (found == by.end())
      result += AffineExpr::of(term);
    else
      result.add(found->second, term.coefficient);
  }
  return result;
}

}  // namespace isamap
