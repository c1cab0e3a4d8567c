// SPDX-License-Identifier: Apache-2.0
#pragma once
// What follows from the facts about symbolic sizes: `facts |- condition` is yes, no with a counterexample, or unknown.
//
// In order: constants; intervals; Z3 on a linear question without quantifiers, bounded by resource units so that
// results repeat. A size with a divisor enters as `multiple_of * q`, a floor division by its two inequalities: no `%`
// and no product of unknowns is ever asked.

#include <map>

#include "ir/condition.h"
#include "isamap/symbolic.h"

namespace isamap {

enum class Truth3 { no, yes, unknown };

struct Answer {
  Truth3 truth = Truth3::unknown;
  Bindings counterexample;  ///< no: values of all names, small ones where possible
  explicit operator bool() const { return truth == Truth3::yes; }
};

class Facts {
 public:
  explicit Facts(const SizeFacts& facts) : facts_(facts) {}

  /// Is `e` >= 0 for all sizes, and all values of further names, at which every entry of `where` is >= 0?
  Answer nonnegative(const AffineExpr& e, const std::vector<AffineExpr>& where = {}) const;
  /// Are both equal for all sizes?
  Answer equal(const AffineExpr& a, const AffineExpr& b) const;
  /// Sizes that satisfy all facts, near to the wanted ones; nothing: there are none.
  std::optional<Bindings> example(const Bindings& wanted = {}) const;
  /// By the ranges of single sizes.
  std::optional<Interval> interval(const AffineExpr& e) const { return bounds(e, ranges()); }
  Ranges ranges() const;
  const SizeFacts& sizes() const { return facts_; }

 private:
  const SizeFacts& facts_;
};

/// A number that divides the value at all sizes, by `multiple_of`; at least 1.
std::int64_t divisor_of(const AffineExpr& over_sizes, const SizeFacts& facts);

// Facts and guards as text: conditions that are linear in the sizes.

using SizeExpressions = std::map<std::string, AffineExpr>;  ///< over sizes, by name

/// Nothing: a product or quotient of two symbolic sizes, `min` and the like of one, or an unknown name.
std::optional<AffineExpr> affine_of(const IntExpr& e, const SizeExpressions& names);
/// `a == b` is two facts, the others are one. An error: `!=`, or a side that is not linear. All names are known.
Result<std::vector<SizeFact>> facts_of(const Condition& condition, const std::string& text,
                                       const SizeExpressions& names, const SourceLocation& where);

/// SMT-LIB: declarations and assertions of the facts, each size named `size.NAME`; and an expression over them.
std::string smt_declarations(const SizeFacts& facts);
std::string smt_expression(const AffineExpr& over_sizes, std::string& declarations);

}  // namespace isamap
