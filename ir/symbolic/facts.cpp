// SPDX-License-Identifier: Apache-2.0
#include "ir/symbolic/facts.h"

#include <fmt/format.h>
#include <z3++.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr unsigned most_resources = 2'000'000;                  // Z3 resource units for a question: well below a second
constexpr std::int64_t farthest_bound = std::int64_t{1} << 41;  // beyond any size

/// One linear question: facts, further assumptions, and what is to be satisfied.
class SizeQuestion {
 public:
  explicit SizeQuestion(const SizeFacts& facts) : facts_(facts), solver_(context_, "QF_LIA") {
    z3::params params(context_);
    params.set("rlimit", most_resources);
    params.set("random_seed", 0U);
    solver_.set(params);
    for (const SymbolicSize& size : facts.sizes) {
      const z3::expr value = name(size.name);
      solver_.add(number(size.min) <= value && value <= number(size.max));
    }
    for (const SizeFact& fact : facts.between) require(fact.nonnegative);
  }

  void require(const AffineExpr& e) {
    const z3::expr value = expression(e);
    solver_.add(value >= 0);
  }

  z3::check_result check() {
    try {
      return solver_.check();
    } catch (const z3::exception&) {
      return z3::unknown;
    }
  }

  /// Values of all names; each in turn as small as halving finds.
  Bindings small_model() {
    Bindings values = model();
    for (const auto& [wanted, first] : Bindings(values)) {
      std::int64_t low = -1, high = std::max<std::int64_t>(values[wanted], 0);  // high is possible, low is not
      while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        solver_.push();
        solver_.add(name(wanted) <= number(middle));
        const bool possible = check() == z3::sat;
        if (possible) {
          values = model();
          high = std::max<std::int64_t>(values[wanted], 0);
        } else {
          low = middle;
        }
        solver_.pop();
        if (high < 0) break;
      }
      solver_.add(name(wanted) <= number(high));
    }
    return values;
  }

  /// Each value in turn is kept where it is possible, else it is as near as possible.
  void prefer(const Bindings& wanted) {
    for (const auto& [size, value] : wanted) {
      std::int64_t low = -1, high = 0;  // distance: `high` is possible in the end, `low` is not
      while (!is_within(size, value, high) && high < farthest_bound) low = std::exchange(high, 2 * high + 1);
      while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (is_within(size, value, middle) ? high : low) = middle;
      }
      require_within(size, value, high);
    }
  }

  Bindings model() {
    Bindings values;
    if (check() != z3::sat) return values;
    const z3::model found = solver_.get_model();
    for (const auto& [text, value] : names_) {
      std::int64_t number = 0;
      if (found.eval(value, true).is_numeral_i64(number)) values[text] = number;
    }
    return values;
  }

 private:
  void require_within(const std::string& size, std::int64_t value, std::int64_t distance) {
    const z3::expr is = name(size);
    solver_.add(number(value - distance) <= is && is <= number(value + distance));
  }
  bool is_within(const std::string& size, std::int64_t value, std::int64_t distance) {
    solver_.push();
    require_within(size, value, distance);
    const bool possible = check() == z3::sat;
    solver_.pop();
    return possible;
  }

  z3::expr number(std::int64_t value) { return context_.int_val(value); }

  z3::expr name(const std::string& text) {
    for (const auto& [known, value] : names_)
      if (known == text) return value;
    z3::expr value = context_.int_const(text.c_str());
    if (const SymbolicSize* size = facts_.find(text); size != nullptr && size->multiple_of > 1)
      value = number(size->multiple_of) * context_.int_const((text + ".q").c_str());
    names_.emplace_back(text, value);
    return value;
  }

  z3::expr expression(const AffineExpr& e) {
    z3::expr sum = number(e.constant());
    for (const AffineTerm& term : e.terms()) {
      const z3::expr factor = number(term.coefficient);
      if (const FloorDiv* div = division(term)) {
        const z3::expr q = context_.int_const(("/" + std::to_string(quotients_++)).c_str());
        const z3::expr rest = expression(*div->numerator) - number(div->divisor) * q;
        solver_.add(rest >= 0 && rest < number(div->divisor));
        sum = sum + factor * q;
      } else {
        sum = sum + factor * name(std::get<std::string>(term.atom));
      }
    }
    return sum;
  }

  const SizeFacts& facts_;
  z3::context context_;
  z3::solver solver_;
  std::vector<std::pair<std::string, z3::expr>> names_;
  int quotients_ = 0;
};

}  // namespace

Ranges Facts::ranges() const {
  Ranges found;
  for (const SymbolicSize& size : facts_.sizes) found[size.name] = {size.min, size.max};
  return found;
}

Answer Facts::nonnegative(const AffineExpr& e, const std::vector<AffineExpr>& where) const {
  if (e.is_constant() && e.constant() >= 0) return {Truth3::yes, {}};
  if (const auto known = interval(e); known && known->low >= 0) return {Truth3::yes, {}};
  SizeQuestion question(facts_);
  for (const AffineExpr& condition : where) question.require(condition);
  question.require(-e - 1);
  switch (question.check()) {
    case z3::unsat:
      return {Truth3::yes, {}};
    case z3::sat:
      return {Truth3::no, question.small_model()};
    case z3::unknown:
      break;
  }
  return {};
}

Answer Facts::equal(const AffineExpr& a, const AffineExpr& b) const {
  if (a == b) return {Truth3::yes, {}};
  const Answer above = nonnegative(a - b);
  return above ? nonnegative(b - a) : above;
}

std::optional<Bindings> Facts::example(const Bindings& wanted) const {
  SizeQuestion question(facts_);
  if (question.check() != z3::sat) return std::nullopt;
  question.prefer(wanted);
  return question.model();
}

std::string smt_expression(const AffineExpr& e, std::string& declarations) {
  const auto number = [](std::int64_t n) { return n < 0 ? "(- " + std::to_string(-n) + ")" : std::to_string(n); };
  std::string text = "(+ " + number(e.constant());
  for (const AffineTerm& term : e.terms()) {
    std::string atom;
    if (const FloorDiv* div = division(term)) {
      const std::string numerator = smt_expression(*div->numerator, declarations);
      atom = "size.q" + std::to_string(declarations.size());
      const std::string rest = "(- " + numerator + " (* " + number(div->divisor) + " " + atom + "))";
      declarations += "(declare-const " + atom + " Int)\n(assert (and (<= 0 " + rest + ") (< " + rest + " " +
                      number(div->divisor) + ")))\n";
    } else {
      atom = "size." + std::get<std::string>(term.atom);
    }
    text += " (* " + number(term.coefficient) + " " + atom + ")";
  }
  return text + ")";
}

std::string smt_declarations(const SizeFacts& facts) {
  std::string text;
  for (const SymbolicSize& size : facts.sizes) {
    const std::string name = "size." + size.name;
    text += "(declare-const " + name + " Int)\n(assert (and (<= " + std::to_string(size.min) + " " + name +
            ") (<= " + name + " " + std::to_string(size.max) + ")))\n";
    if (size.multiple_of == 1) continue;
    text += "(declare-const " + name + ".q Int)\n(assert (= " + name + " (* " + std::to_string(size.multiple_of) + " " +
            name + ".q)))\n";
  }
  for (const SizeFact& fact : facts.between) {
    const std::string value = smt_expression(fact.nonnegative, text);
    text += "(assert (<= 0 " + value + "))\n";
  }
  return text;
}

std::optional<AffineExpr> affine_of(const IntExpr& e, const SizeExpressions& sizes) {
  if (e.op == IntExpr::Op::number) return AffineExpr(e.number);
  if (e.op == IntExpr::Op::reference) {
    const auto found = sizes.find(e.reference.object);
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
  }
  if (e.args.size() != 2) return std::nullopt;
  const auto a = affine_of(e.args[0], sizes), b = affine_of(e.args[1], sizes);
  if (!a || !b) return std::nullopt;
  switch (e.op) {
    case IntExpr::Op::add:
      return *a + *b;
    case IntExpr::Op::sub:
      return *a - *b;
    case IntExpr::Op::mul:
      if (b->is_constant()) return *a * b->constant();
      if (a->is_constant()) return *b * a->constant();
      return std::nullopt;
    case IntExpr::Op::div:
      return b->is_constant() && b->constant() > 0 ? std::optional(floordiv(*a, b->constant())) : std::nullopt;
    case IntExpr::Op::mod:
      return b->is_constant() && b->constant() > 0 ? std::optional(mod(*a, b->constant())) : std::nullopt;
    default:
      return std::nullopt;
  }
}

namespace {

/// `a == b` is two facts; `!=` is none.
std::vector<AffineExpr> nonnegative_of(const Condition& condition, const AffineExpr& left, const AffineExpr& right) {
  switch (condition.op) {
    case Condition::Op::equal:
      return {left - right, right - left};
    case Condition::Op::less:
      return {right - left - 1};
    case Condition::Op::at_most:
      return {right - left};
    case Condition::Op::more:
      return {left - right - 1};
    case Condition::Op::at_least:
      return {left - right};
    case Condition::Op::unequal:
      break;
  }
  return {};
}

}  // namespace

Result<std::vector<SizeFact>> facts_of(const Condition& condition, const std::string& text,
                                       const SizeExpressions& names, const SourceLocation& where) {
  if (condition.op == Condition::Op::unequal)
    return error_at(where, "a fact with != is not supported", "state a range: min, max, multiple_of, <= or ==");
  const auto left = affine_of(condition.left, names), right = affine_of(condition.right, names);
  if (!left || !right)
    return error_at(where, fmt::format("the fact {} is not linear in the sizes", text),
                    "write sums of sizes times numbers; `/` and `%` by numbers");
  std::vector<SizeFact> facts;
  for (AffineExpr& e : nonnegative_of(condition, *left, *right)) facts.push_back({text, std::move(e), where});
  return facts;
}

std::int64_t divisor_of(const AffineExpr& over_sizes, const SizeFacts& facts) {
  std::int64_t divisor = std::abs(over_sizes.constant());
  for (const AffineTerm& term : over_sizes.terms()) {
    const auto* name = std::get_if<std::string>(&term.atom);
    const SymbolicSize* size = name != nullptr ? facts.find(*name) : nullptr;
    divisor = std::gcd(divisor, term.coefficient * (size != nullptr ? size->multiple_of : 1));
  }
  return std::max<std::int64_t>(std::abs(divisor), 1);
}

}  // namespace isamap
