// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quasi-affine integer expressions: sums of integer multiples of names and of floor divisions by constants.
//
// Canonical on construction: terms are sorted, like terms are added, e mod c is written e - c*(e/c), (c*a + r)/c is a +
// r/c, (e/a)/b is e/(a*b). So linear expressions are equal iff they are equal objects, and a floor division is kept in
// one form: inside it |coefficient| < divisor, 0 <= constant < divisor, and nothing divides them all. (Signs are kept:
// (48*t + y)/56 stays, so that a nonnegative numerator remains so.) A name is an iterator (`i`), a loop variable, an
// instruction dim (`$j`) or a symbolic size (`N`); its meaning depends on the use of the expression. Arithmetic wraps
// at 64 bits; the verifier of kernels rejects sizes that could overflow.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "isamap/result.h"

namespace isamap {

class AffineExpr;

/// floor(numerator / divisor), divisor > 1.
struct FloorDiv {
  std::shared_ptr<const AffineExpr> numerator;
  std::int64_t divisor = 1;
};

/// coefficient * (name or floor division); the coefficient is never 0.
struct AffineTerm {
  std::int64_t coefficient = 0;
  std::variant<std::string, FloorDiv> atom;
};
/// Null: the term is a name.
inline const FloorDiv* division(const AffineTerm& term) { return std::get_if<FloorDiv>(&term.atom); }

/// An interval of integers, both ends included; empty when low > high.
struct Interval {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool operator==(const Interval&) const = default;
};

class AffineExpr {
 public:
  AffineExpr() = default;                                     ///< 0
  AffineExpr(std::int64_t constant) : constant_(constant) {}  // NOLINT: implicit on purpose
  static AffineExpr dim(std::string name);
  static AffineExpr of(AffineTerm term);  ///< one term of another expression, whose atom is canonical already

  const std::vector<AffineTerm>& terms() const { return terms_; }
  std::int64_t constant() const { return constant_; }

  bool is_constant() const { return terms_.empty(); }
  bool is_linear() const;  ///< no floor division
  /// The one name this expression is, or nothing: `i` yes, `2*i` and `i+1` no.
  std::optional<std::string> as_dim() const;
  /// Coefficient of a name among the linear terms, not inside floor divisions.
  std::int64_t coefficient(const std::string& name) const;
  /// All names, those inside floor divisions included, in sorted order.
  std::set<std::string> names() const;

  AffineExpr& add(const AffineExpr& other, std::int64_t times);  ///< += other * times, without a copy of it
  AffineExpr& operator+=(const AffineExpr& other) { return add(other, 1); }
  AffineExpr operator-() const { return scaled(-1); }
  friend AffineExpr operator+(AffineExpr a, const AffineExpr& b) { return std::move(a.add(b, 1)); }
  friend AffineExpr operator-(AffineExpr a, const AffineExpr& b) { return std::move(a.add(b, -1)); }
  friend AffineExpr operator*(const AffineExpr& a, std::int64_t factor) { return a.scaled(factor); }
  friend AffineExpr operator*(std::int64_t factor, const AffineExpr& a) { return a.scaled(factor); }

  friend std::strong_ordering operator<=>(const AffineExpr& a, const AffineExpr& b);
  friend bool operator==(const AffineExpr& a, const AffineExpr& b);

 private:
  friend AffineExpr floordiv(const AffineExpr& a, std::int64_t divisor);
  AffineExpr scaled(std::int64_t factor) const;
  std::vector<AffineTerm> terms_;  ///< sorted by atom, each atom once
  std::int64_t constant_ = 0;
};

/// divisor >= 1. floordiv(4*i + j + 5, 4) gives i + (j + 1)/4 + 1.
AffineExpr floordiv(const AffineExpr& a, std::int64_t divisor);
/// a - divisor*floordiv(a, divisor): in [0, divisor).
AffineExpr mod(const AffineExpr& a, std::int64_t divisor);

using Bindings = std::map<std::string, std::int64_t>;
using Ranges = std::map<std::string, Interval>;

/// Narrows a name's range by `e >= 0` where e is that name, or minus it, and a number.
void narrow(Ranges& ranges, const AffineExpr& e);

/// Every name must be bound.
std::int64_t evaluate(const AffineExpr& e, const Bindings& values);
/// Replaces names; names that are not in the map stay. `substitute(i + j, {i -> 2*a})  gives  2*a + j`.
AffineExpr substitute(const AffineExpr& e, const std::map<std::string, AffineExpr>& by);
/// An interval that contains every value (exact for linear e over independent names). A name without a range: nothing.
std::optional<Interval> bounds(const AffineExpr& e, const Ranges& ranges);
/// Uses ranges to remove floor divisions: (16*t + y)/16 with y in [0,15] gives t; (c/7)*7 + c%7 gives c always.
AffineExpr simplify(const AffineExpr& e, const Ranges& ranges);

/// `2*i + (j + 1)/4 - 3`; a canonical e%c prints as such where it is recognised. parse(print(e)) == e.
std::string print(const AffineExpr& e);
/// Reads `+ - * / %`, parentheses, names ([A-Za-z_$][A-Za-z0-9_.$]*) and numbers. `*`, `/` and `%` take constants only.
/// Columns in diagnostics count from `where.column`. Names in `constants` are replaced by their number, so `N*i` is
/// valid. Limits, reported as errors: 64 KiB of text, nesting 64, 512 terms in all, numbers up to 2^40.
Result<AffineExpr> parse_affine(const std::string& text, const SourceLocation& where = {},
                                const Bindings& constants = {});

/// A flat form for hot loops: names become positions, evaluation needs no allocation.
class CompiledAffine {
 public:
  CompiledAffine() = default;
  /// `names` gives each name's slot in the array handed to operator().
  CompiledAffine(const AffineExpr& e, const std::vector<std::string>& names);
  std::int64_t operator()(const std::int64_t* values) const;
  bool is_linear() const { return divisions_.empty(); }
  std::int64_t coefficient(std::size_t slot) const;  ///< only when is_linear()
  std::int64_t constant() const { return total_.constant; }

 private:
  struct Linear {
    std::vector<std::pair<std::size_t, std::int64_t>> terms;
    std::int64_t constant = 0;
  };
  struct Division {
    Linear numerator;
    std::int64_t divisor = 1;
  };
  Linear compile(const AffineExpr& e, const std::vector<std::string>& names);
  std::int64_t sum(const Linear& linear, const std::int64_t* values, const std::int64_t* quotients) const;
  std::vector<Division> divisions_;  ///< inner ones first; result k is slot (number of names + k)
  std::size_t names_ = 0;
  Linear total_;
};

}  // namespace isamap
