// SPDX-License-Identifier: Apache-2.0
#include "mapper/match/expansion.h"

#include <algorithm>

#include "ir/scalar/scalar_functions.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::size_t max_terms = 64, max_degree = 8;

/// Coefficients are exact modulo 2^64 until the root's type is known.
void add_term(Polynomial& to, const std::vector<int>& reads, std::int64_t coefficient) {
  std::int64_t& term = to[reads];
  term = wrapping::add(term, coefficient);
  if (term == 0) to.erase(reads);
}

Polynomial sum(Polynomial a, const Polynomial& b, std::int64_t sign) {
  for (const auto& [reads, coefficient] : b) add_term(a, reads, wrapping::mul(sign, coefficient));
  return a;
}

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [left, x] : a) {
    for (const auto& [right, y] : b) {
      std::vector<int> reads = left;
      reads.insert(reads.end(), right.begin(), right.end());
      std::sort(reads.begin(), reads.end());
      if (reads.size() > max_degree || result.size() > max_terms) return std::nullopt;
      add_term(result, reads, wrapping::mul(x, y));
    }
  }
  return result;
}

using Values = std::optional<Interval>;

Values interval_sum(const Values& a, const Values& b, bool subtract) {
  if (!a || !b) return std::nullopt;
  std::int64_t low = 0, high = 0;
  const bool overflows =
      subtract ? __builtin_sub_overflow(a->low, b->high, &low) || __builtin_sub_overflow(a->high, b->low, &high)
               : __builtin_add_overflow(a->low, b->low, &low) || __builtin_add_overflow(a->high, b->high, &high);
  return overflows ? Values{} : Interval{low, high};
}

Values interval_product(const Values& a, const Values& b) {
  if (!a || !b) return std::nullopt;
  std::vector<std::int64_t> corners;
  for (const std::int64_t x : {a->low, a->high}) {
    for (const std::int64_t y : {b->low, b->high}) {
      const auto corner = checked_mul(x, y);
      if (!corner) return std::nullopt;
      corners.push_back(*corner);
    }
  }
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return Interval{*low, *high};
}

/// Polynomials of s16 and of u16 have the same coefficients.
DType signed_of(DType type) { return is_integer(type) ? integer_of(bits(type), true).value_or(type) : type; }

bool fits(const Values& values, DType type) {
  const Interval all = values_of(type);
  return values && all.low <= values->low && values->high <= all.high;
}

/// The value of an expression without wraps and saturation.
Values free_values(const ScalarExpr& e, const std::vector<Interval>& ranges) {
  if (const auto* r = std::get_if<Read>(&e.op)) return ranges[static_cast<std::size_t>(r->access)];
  if (const auto* c = std::get_if<Constant>(&e.op))
    return Interval{static_cast<std::int64_t>(c->value), static_cast<std::int64_t>(c->value)};
  if (std::holds_alternative<Cast>(e.op)) return free_values(e.args[0], ranges);
  if (std::holds_alternative<Unary>(e.op)) return interval_sum(Interval{0, 0}, free_values(e.args[0], ranges), true);
  const auto* b = std::get_if<Binary>(&e.op);
  if (b == nullptr) return std::nullopt;
  const Values left = free_values(e.args[0], ranges), right = free_values(e.args[1], ranges);
  return b->op == BinaryOp::mul ? interval_product(left, right) : interval_sum(left, right, b->op == BinaryOp::sub);
}

/// A visited node. `values`: the interval of the polynomial, which equals the machine's value; nothing: only its lowest
/// bits agree.
struct Node {
  Polynomial polynomial;
  Values values;
};

class Expander {
 public:
  explicit Expander(const std::vector<Interval>& ranges) : ranges_(ranges) {}

  std::optional<Node> expand(const ScalarExpr& e) {
    if (!is_integer(e.type) || is_wide_unsigned(e.type)) return std::nullopt;  // u64 fits no Interval
    if (const auto* r = std::get_if<Read>(&e.op)) {
      const Values values = ranges_[static_cast<std::size_t>(r->access)];  // perhaps of the other signedness
      return Node{{{{r->access}, 1}}, fits(values, e.type) ? values : Values{}};
    }
    if (const auto* c = std::get_if<Constant>(&e.op)) return number(*c);
    if (const auto* c = std::get_if<Cast>(&e.op)) return converted(e, c->saturate);
    if (const auto* u = std::get_if<Unary>(&e.op))
      return u->op == UnaryOp::negate ? combined(BinaryOp::sub, Node{{}, Interval{0, 0}}, expand(e.args[0]), e.type)
                                      : std::nullopt;
    if (const auto* b = std::get_if<Binary>(&e.op))
      return combined(b->op, expand(e.args[0]), expand(e.args[1]), e.type);
    return std::nullopt;
  }

  std::vector<Loss> losses, fitting;

 private:
  static std::optional<Node> number(const Constant& c) {
    const auto value = static_cast<std::int64_t>(c.value);
    Node node{{}, Interval{value, value}};
    add_term(node.polynomial, {}, value);
    return node;
  }

  static std::optional<Node> combined(BinaryOp op, const std::optional<Node>& a, const std::optional<Node>& b,
                                      DType type) {
    if (!a || !b) return std::nullopt;
    Node node;
    if (op == BinaryOp::mul) {
      auto terms = product(a->polynomial, b->polynomial);
      if (!terms) return std::nullopt;
      node = {std::move(*terms), interval_product(a->values, b->values)};
    } else if (op == BinaryOp::add || op == BinaryOp::sub) {
      const bool subtract = op == BinaryOp::sub;
      node = {sum(a->polynomial, b->polynomial, subtract ? -1 : 1), interval_sum(a->values, b->values, subtract)};
    } else {
      return std::nullopt;
    }
    if (node.polynomial.size() > max_terms) return std::nullopt;
    if (!fits(node.values, type)) node.values.reset();
    return node;
  }

  /// The interval of the argument without wraps, for messages.
  static Interval reach(const ScalarExpr& e, const std::vector<Interval>& ranges) {
    return free_values(e, ranges).value_or(Interval{1, 0});
  }

  std::optional<Node> converted(const ScalarExpr& e, bool saturate) {
    const ScalarExpr& argument = e.args[0];
    auto node = expand(argument);
    if (!node) return std::nullopt;
    const bool widening = bits(e.type) > bits(argument.type) || saturate;
    if (widening) {  // a wrapped value is another number in a wider type
      require(argument, node->values.has_value(), false, argument.type);
      if (!node->values) node->values = reach(argument, ranges_);
    }
    if (saturate) require(argument, fits(node->values, e.type), true, e.type);
    if (!fits(node->values, e.type)) node->values.reset();
    if (saturate && !node->values) node->values = values_of(e.type);
    return node;
  }

  void require(const ScalarExpr& argument, bool holds, bool saturates, DType type) {
    const auto* inner = std::get_if<Cast>(&argument.op);
    const bool leaf = std::holds_alternative<Read>(argument.op) || std::holds_alternative<Constant>(argument.op);
    if (holds && (leaf || (inner != nullptr && !saturates))) return;  // holds by its type
    (holds ? fitting : losses).push_back({argument, saturates, type, reach(argument, ranges_)});
  }

  const std::vector<Interval>& ranges_;
};

}  // namespace

void require_sums(Expansion& expansion, const ScalarExpr& body, const std::vector<Interval>& ranges, std::int64_t count,
                  const Interval& before) {
  Values term = free_values(body, ranges);
  if (term) term = Interval{std::min<std::int64_t>(term->low, 0), std::max<std::int64_t>(term->high, 0)};
  const Values sums = interval_sum(interval_product(term, Interval{count, count}), before, false);
  ScalarExpr argument = binary(BinaryOp::mul, constant(static_cast<double>(count), DType::s64), cast(DType::s64, body));
  (fits(sums, body.type) ? expansion.fitting : expansion.losses)
      .push_back({std::move(argument), true, body.type, sums.value_or(Interval{1, 0})});
}

Interval values_of(DType type) {
  return {is_wide_unsigned(type) ? integer_min(DType::s64) : integer_min(type), integer_max(type)};
}

std::optional<Expansion> expand(const ScalarExpr& body, const std::vector<Interval>& ranges) {
  Expander expander(ranges);
  auto node = expander.expand(body);
  if (!node) return std::nullopt;
  Polynomial polynomial;
  for (const auto& [reads, coefficient] : node->polynomial)
    add_term(polynomial, reads, wrap_to(signed_of(body.type), coefficient));
  return Expansion{std::move(polynomial), std::move(expander.losses), std::move(expander.fitting)};
}

}  // namespace isamap
