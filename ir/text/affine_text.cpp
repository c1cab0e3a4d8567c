// SPDX-License-Identifier: Apache-2.0
// Expressions as text. Remainders are recovered for printing: for an m that divides d and x = floor(n/(d/m)),
// floor(x/m) is floor(n/d), so q*x - q*m*floor(n/d) is q*(x%m).

#include <algorithm>
#include <cstdlib>

#include "ir/text/affine_parser.h"

namespace isamap {

namespace {

constexpr std::size_t max_terms = 512;

bool same_atom(const AffineTerm& a, const AffineTerm& b) {
  const FloorDiv* x = division(a);
  const FloorDiv* y = division(b);
  if (!x || !y) return !x && !y && std::get<std::string>(a.atom) == std::get<std::string>(b.atom);
  return x->divisor == y->divisor && (x->numerator == y->numerator || *x->numerator == *y->numerator);
}

bool is_atom(const AffineExpr& e) {
  return e.terms().size() == 1 && e.constant() == 0 && e.terms()[0].coefficient == 1;
}

// Does e contain every term of part, with the same sign and at least the same coefficient?
bool holds(const AffineExpr& e, const AffineExpr& part) {
  return std::all_of(part.terms().begin(), part.terms().end(), [&](const AffineTerm& term) {
    return std::any_of(e.terms().begin(), e.terms().end(), [&](const AffineTerm& other) {
      return same_atom(term, other) && (term.coefficient < 0) == (other.coefficient < 0) &&
             (term.coefficient < 0 ? other.coefficient <= term.coefficient : other.coefficient >= term.coefficient);
    });
  });
}

// factor * (of % divisor)
struct Remainder {
  std::int64_t factor = 0;
  AffineExpr of;
  std::int64_t divisor = 1;
};

std::int64_t coefficient_of(const AffineExpr& e, const AffineTerm& atom) {
  for (const AffineTerm& term : e.terms())
    if (same_atom(term, atom)) return term.coefficient;
  return 0;
}

// A remainder by m whose subtracted half is `term`, or all of it but a smaller multiple (2*(i%4) + i/4). Either way its
// removal removes a term of e, so the search terminates.
std::optional<Remainder> remainder_by(std::int64_t m, const AffineExpr& e, const AffineTerm& term) {
  const FloorDiv& div = *division(term);
  if (m < 2 || div.divisor % m != 0) return std::nullopt;
  const AffineExpr of = floordiv(*div.numerator, div.divisor / m);
  if (of.is_constant()) return std::nullopt;
  const std::int64_t c = term.coefficient;
  if (c % m == 0 && holds(e, of * -(c / m))) return Remainder{-(c / m), of, m};
  const AffineTerm& first = of.terms().front();
  const std::int64_t available = coefficient_of(e, first);
  const std::int64_t factor = available / first.coefficient;
  if (factor == 0 || available % first.coefficient != 0 || std::abs(factor) > std::abs(c)) return std::nullopt;
  if (std::abs(c + factor * m) >= std::abs(c) || !holds(e, of * factor)) return std::nullopt;
  return Remainder{factor, of, m};
}

std::optional<Remainder> find_remainder(const AffineExpr& e) {
  for (const AffineTerm& term : e.terms()) {
    const FloorDiv* div = division(term);
    if (!div) continue;
    if (auto r = remainder_by(div->divisor, e, term)) return r;
    for (const AffineTerm& other : e.terms()) {
      const FloorDiv* finer = division(other);
      if (!finer || finer->divisor >= div->divisor || div->divisor % finer->divisor != 0) continue;
      const std::int64_t m = div->divisor / finer->divisor;
      if ((term.coefficient < 0) == (other.coefficient < 0)) continue;
      if (auto r = remainder_by(m, e, term)) return r;
    }
  }
  return std::nullopt;
}

std::string operand(const AffineExpr& e) {  // of / or %
  return is_atom(e) ? print(e) : "(" + print(e) + ")";
}

// One summand: sign, factor and the atom's text.
void append(std::string& text, std::int64_t factor, const std::string& atom, bool is_name) {
  const bool negative = factor < 0;
  if (text.empty())
    text = negative ? "-" : "";
  else
    text += negative ? " - " : " + ";
  const bool leads = text == "-";
  const std::string magnitude = std::to_string(factor).substr(negative ? 1 : 0);
  if (magnitude != "1") text += magnitude + "*";
  text += is_name || (magnitude == "1" && !leads) ? atom : "(" + atom + ")";
}

}  // namespace

std::string print(const AffineExpr& e) {
  AffineExpr rest = e;
  std::vector<Remainder> remainders;
  while (auto r = find_remainder(rest)) {
    rest = rest - mod(r->of, r->divisor) * r->factor;
    remainders.push_back(std::move(*r));
  }
  std::string text;
  for (const AffineTerm& term : rest.terms()) {
    const FloorDiv* div = division(term);
    append(text, term.coefficient,
           div ? operand(*div->numerator) + "/" + std::to_string(div->divisor) : std::get<std::string>(term.atom),
           !div);
  }
  for (const Remainder& r : remainders) append(text, r.factor, operand(r.of) + "%" + std::to_string(r.divisor), false);
  if (text.empty()) return std::to_string(rest.constant());
  if (rest.constant() != 0)
    append(text, rest.constant() < 0 ? -1 : 1, std::to_string(rest.constant()).substr(rest.constant() < 0), true);
  return text;
}

namespace {

// Terms of e, those inside divisions included; counting stops at `limit`.
std::size_t weight(const AffineExpr& e, std::size_t limit, std::size_t depth, std::size_t& deepest) {
  deepest = std::max(deepest, depth);
  std::size_t count = e.terms().size();
  for (const AffineTerm& term : e.terms()) {
    if (count > limit) break;
    if (const FloorDiv* div = division(term)) count += weight(*div->numerator, limit - count, depth + 1, deepest);
  }
  return count;
}

bool too_large(std::int64_t value) { return value > Cursor::max_number || value < -Cursor::max_number; }

class AffineReader {
 public:
  AffineReader(Cursor& cursor, const Bindings& constants, bool dots)
      : cursor_(cursor), constants_(constants), dots_(dots) {}

  AffineExpr sum() {
    AffineExpr result;
    if (!cursor_.enter()) return result;
    result = product();
    while (!cursor_.failed()) {
      const std::size_t at = cursor_.offset();
      if (cursor_.accept("+"))
        result += product();
      else if (cursor_.accept("-"))
        result += -product();
      else
        break;
      check_size(cursor_, at, result);
    }
    cursor_.leave();
    return result;
  }

 private:
  AffineExpr product() {
    AffineExpr result = factor();
    while (!cursor_.failed()) {
      const std::size_t at = cursor_.offset();
      if (cursor_.accept("*"))
        result = multiplied(at, result, factor());
      else if (cursor_.accept("/"))
        result = divided(at, result, factor(), false);
      else if (cursor_.accept("%"))
        result = divided(at, result, factor(), true);
      else
        break;
      check_size(cursor_, at, result);
    }
    return result;
  }

  AffineExpr multiplied(std::size_t at, const AffineExpr& a, const AffineExpr& b) {
    if (cursor_.failed()) return {};
    if (!a.is_constant() && !b.is_constant()) {
      cursor_.fail(at,
                   "'*' between '" + print(a) + "' and '" + print(b) + "' is not affine; one side must be a constant");
      return {};
    }
    const AffineExpr& e = a.is_constant() ? b : a;
    const std::int64_t factor = a.is_constant() ? a.constant() : b.constant();
    return fits(at, e, factor) ? e * factor : AffineExpr();
  }

  bool fits(std::size_t at, const AffineExpr& e, std::int64_t factor) {  // |factor| <= 2^40: products fit 128 bits
    __int128 largest = std::abs(e.constant());
    for (const AffineTerm& term : e.terms()) largest = std::max<__int128>(largest, std::abs(term.coefficient));
    if (largest * std::abs(factor) <= Cursor::max_number) return true;
    cursor_.fail(at, "a coefficient exceeds 2^40");
    return false;
  }

  AffineExpr divided(std::size_t at, const AffineExpr& a, const AffineExpr& b, bool remainder) {
    if (cursor_.failed()) return {};
    if (!b.is_constant() || b.constant() < 1) {
      cursor_.fail(at, std::string(remainder ? "'%'" : "'/'") + " by '" + print(b) +
                           "'; the divisor must be a positive constant");
      return {};
    }
    return remainder ? mod(a, b.constant()) : floordiv(a, b.constant());
  }

  AffineExpr factor() {
    if (cursor_.failed()) return {};
    if (cursor_.peek("-")) return negated();
    if (cursor_.accept("(")) {
      const AffineExpr inner = sum();
      cursor_.expect(")");
      return inner;
    }
    if (cursor_.at_number()) return cursor_.expect_integer("a number");
    const std::string name = cursor_.expect_name("a name, a number or '('", dots_);
    const auto constant = constants_.find(name);
    return constant == constants_.end() ? AffineExpr::dim(name) : AffineExpr(constant->second);
  }

  AffineExpr negated() {
    bool negative = false;
    while (cursor_.accept("-")) negative = !negative;
    const AffineExpr inner = factor();
    return negative ? -inner : inner;
  }

  Cursor& cursor_;
  const Bindings& constants_;
  bool dots_;
};

}  // namespace

void check_size(Cursor& cursor, std::size_t offset, const AffineExpr& e) {
  if (cursor.failed()) return;
  bool large = too_large(e.constant());
  for (const AffineTerm& term : e.terms()) large = large || too_large(term.coefficient);
  if (large) cursor.fail(offset, "a coefficient exceeds 2^40");
  std::size_t deepest = 0;
  if (weight(e, max_terms, 0, deepest) > max_terms)
    cursor.fail(offset, "the expression has more than " + std::to_string(max_terms) + " terms");
  if (deepest > Cursor::max_nesting)
    cursor.fail(offset, "divisions nested deeper than " + std::to_string(Cursor::max_nesting) + " levels");
}

AffineExpr read_affine(Cursor& cursor, const Bindings& constants, bool dots) {
  const std::size_t at = cursor.offset();
  AffineExpr e = AffineReader(cursor, constants, dots).sum();
  check_size(cursor, at, e);
  return cursor.failed() ? AffineExpr() : e;
}

Result<AffineExpr> parse_affine(const std::string& text, const SourceLocation& where, const Bindings& constants) {
  Cursor cursor(text, where);
  AffineExpr e = read_affine(cursor, constants, true);
  cursor.expect_end();
  if (cursor.failed()) return cursor.problem();
  return e;
}

}  // namespace isamap
