// SPDX-License-Identifier: Apache-2.0
// Typing of scalar bodies: inserts the widening casts that the text omits.
//
// Types flow down. The root's context is the output type; inside an explicit cast, and in the condition of a select, it
// is the join of the types of the leaves (reads and inner casts of reads). Arithmetic happens in its context's type; a
// leaf of another type is widened to it. A cast or comparison without reads is folded. The operands of a comparison
// have their own type, the join of their leaves; it yields a truth value, which is a leaf for what is around it.
// Operands of `and`, `or` and `not` become truth values: bool(x), whether x is not 0.

#include <fmt/format.h>

#include <cmath>

#include "ir/scalar/scalar_functions.h"
#include "isamap/expression.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

using Failure = std::optional<Diagnostic>;
std::string quoted(DType type) { return std::string(name(type)); }

// The join of the leaf types; `type` is nothing where there are constants only.
struct LeafTypes {
  std::optional<DType> type;
  Failure failure;
};

/// Locations of a body's reads and of the whole body.
struct Places {
  SourceLocation where;
  std::vector<SourceLocation> reads;

  const SourceLocation& of(const ScalarExpr& e) const {
    const std::vector<int> read = reads_of(e);
    const std::size_t first = read.empty() ? reads.size() : static_cast<std::size_t>(read.front());
    return first < reads.size() ? reads[first] : where;
  }
};

void join_leaf(LeafTypes& leaves, DType type, const SourceLocation& where) {
  if (!leaves.type) {
    leaves.type = type;
    return;
  }
  if (const auto joined = join(*leaves.type, type))
    leaves.type = joined;
  else
    leaves.failure =
        error_at(where, "no type holds every value of both " + quoted(*leaves.type) + " and " + quoted(type),
                 "cast one of the operands");
}

/// Of a function or an operator; nothing: it is neither.
const ScalarFunction* function_at(const ScalarExpr& e) {
  if (const auto* u = std::get_if<Unary>(&e.op)) return &function_of(u->op).common;
  if (const auto* b = std::get_if<Binary>(&e.op)) return &function_of(b->op).common;
  return nullptr;
}

bool is_truth_function(const ScalarExpr& e) {
  const ScalarFunction* f = function_at(e);
  return f != nullptr && f->operands != Operands::of_context;
}

void collect_leaves(const ScalarExpr& e, const Places& places, LeafTypes& leaves) {
  if (leaves.failure || reads_of(e).empty()) return;  // constants, cast or not, get the type of the other operand
  if (std::holds_alternative<Read>(e.op) || std::holds_alternative<Cast>(e.op))
    return join_leaf(leaves, e.type, places.of(e));
  if (is_truth_function(e)) return join_leaf(leaves, DType::boolean, places.of(e));
  // The condition of a select has a separate type.
  const std::size_t first = std::holds_alternative<Select>(e.op) ? 1 : 0;
  for (std::size_t i = first; i < e.args.size(); ++i) collect_leaves(e.args[i], places, leaves);
}

class Typing {
 public:
  explicit Typing(Places places) : places_(std::move(places)) {}

  ScalarExpr in_context(const ScalarExpr& raw, DType type) {
    if (is_truth_function(raw)) return widened(typed_truth(raw), type, DType::boolean);
    return std::visit(overloaded{[&](const Constant& c) { return typed_constant(c.value, type); },
                                 [&](const Read& r) { return widened(read(r.access, raw.type), type, raw.type); },
                                 [&](const Unary& u) { return typed_unary(raw, u, type); },
                                 [&](const Binary& b) { return arithmetic(raw, type, function_of(b.op).common); },
                                 [&](const Select&) { return typed_select(raw, type); },
                                 [&](const Cast& c) { return widened(typed_cast(raw, c), type, raw.type); }},
                      raw.op);
  }

  Failure failure;

 private:
  void fail(const ScalarExpr& at, std::string message, std::string hint) {
    if (!failure) failure = error_at(places_.of(at), std::move(message), std::move(hint));
  }

  ScalarExpr typed_constant(double value, DType type) {
    if (is_float(type)) return constant(round_to(type, value), type);
    const bool extreme = std::fabs(value) == (is_wide_unsigned(type) ? 0x1p64 : 0x1p63);  // identities of max and min
    const bool fits =
        is_truth(type) ? value == 0 || value == 1 : is_value_of(type, value) && (extreme || std::fabs(value) <= 0x1p53);
    if (!fits && is_value_of(type, value) && !is_truth(type)) {
      fail({}, fmt::format("the constant {:.0f} is beyond 2^53, up to which constants of {} go", value, quoted(type)),
           "read it from a tensor");
    } else if (!fits) {
      fail({}, "the constant " + print(constant(value, DType::f64), {}) + " is not a value of " + quoted(type),
           "write it inside a cast, or compute in a type that holds it");
    }
    return constant(value == 0 ? 0 : value, type);
  }

  // `inner` has type `from`; a constant gets the wider type without a cast.
  ScalarExpr widened(ScalarExpr inner, DType to, DType from) {
    if (from == to) return inner;
    const Constant* c = std::get_if<Constant>(&inner.op);
    const bool keeps_value = c != nullptr && is_float(to) && round_to(to, c->value) == c->value;
    if (!widens(from, to) && !keeps_value) {
      fail(inner,
           "a value of " + quoted(from) + " is used where " + quoted(to) + " is computed: that would lose values",
           "write the cast, for example " + quoted(to) + "(...)");
    }
    if (c != nullptr) {
      inner.type = to;
      return inner;
    }
    return cast(to, std::move(inner));
  }

  ScalarExpr typed_unary(const ScalarExpr& raw, const Unary& u, DType type) {
    if (u.op == UnaryOp::negate && std::holds_alternative<Constant>(raw.args[0].op)) {
      return typed_constant(-std::get<Constant>(raw.args[0].op).value, type);
    }
    ScalarExpr result = arithmetic(raw, type, function_of(u.op).common);
    if (u.op != UnaryOp::negate || result.args.empty() || failure) return result;
    // A folded sign or cast of a constant: -(f32(0.25)).
    const Constant* c = std::get_if<Constant>(&result.args[0].op);
    return c ? typed_constant(-c->value, type) : result;
  }

  void check_defined(const ScalarExpr& raw, DType type, const ScalarFunction& function) {
    const auto needs = [&](const std::string& what, const std::string& example) {
      fail(raw, std::string(function.name) + " is computed in " + quoted(type) + ", but needs " + what + " type",
           "cast its operand, for example " + example + "(...)");
    };
    if (!is_float(type) && function.integer_text.empty()) needs("a float", "f32");
    if (is_float(type) && function.text.empty()) needs("an integer", "s32");
    if (is_bits(type)) fail(raw, "no arithmetic is defined on " + quoted(type), "bits can only be copied");
    if (type == DType::boolean && !function.of_truth)
      fail(raw, std::string(function.name) + " is not defined on " + quoted(type),
           "use and, or, not, min, max, or cast the operand: s32(...)");
  }

  ScalarExpr arithmetic(const ScalarExpr& raw, DType type, const ScalarFunction& function) {
    check_defined(raw, type, function);
    return with_arguments(raw, type, 0);
  }

  ScalarExpr with_arguments(const ScalarExpr& raw, DType type, std::size_t first) {
    ScalarExpr result{raw.op, type, {}};
    for (std::size_t i = first; i < raw.args.size(); ++i) result.args.push_back(in_context(raw.args[i], type));
    return result;
  }

  ScalarExpr typed_select(const ScalarExpr& raw, DType type) {
    ScalarExpr result = with_arguments(raw, type, 1);
    result.args.insert(result.args.begin(), in_context(raw.args[0], leaf_type(raw.args[0], type)));
    return result;
  }

  /// Comparisons and logic.
  ScalarExpr typed_truth(const ScalarExpr& raw) {
    const ScalarFunction& function = *function_at(raw);
    ScalarExpr result{raw.op, DType::boolean, {}};
    if (function.operands == Operands::truth) {
      for (const ScalarExpr& arg : raw.args) result.args.push_back(truth_of(arg));
      return folded_constants(std::move(result));
    }
    LeafTypes leaves;
    for (const ScalarExpr& arg : raw.args) collect_leaves(arg, places_, leaves);
    if (leaves.failure && !failure) failure = leaves.failure;
    const DType type = leaves.type.value_or(DType::f64);
    check_defined(raw, type, function);
    for (const ScalarExpr& arg : raw.args) result.args.push_back(in_context(arg, type));
    return folded_constants(std::move(result));
  }

  /// So that a widened one reads back: a cast without reads is folded.
  ScalarExpr folded_constants(ScalarExpr truth) const {
    return failure || !reads_of(truth).empty() ? truth : folded(truth);
  }

  ScalarExpr truth_of(const ScalarExpr& raw) {
    const DType type = leaf_type(raw, DType::boolean);
    ScalarExpr value = in_context(raw, type);
    if (is_bits(type)) fail(raw, "a value of " + quoted(type) + " is no truth value", "bits can only be copied");
    return type == DType::boolean ? value : cast(DType::boolean, std::move(value));
  }

  ScalarExpr typed_cast(const ScalarExpr& raw, const Cast& c) {
    const ScalarExpr& operand = raw.args[0];
    const DType inner_type = leaf_type(operand, is_float(raw.type) ? raw.type : DType::f64);
    ScalarExpr inner = in_context(operand, inner_type);
    if (failure) return inner;
    if (reads_of(inner).empty()) return folded(cast(raw.type, std::move(inner), c.saturate));
    if (inner_type == raw.type) return inner;
    if (is_bits(raw.type) || is_bits(inner_type)) {
      fail(raw, "no cast from " + quoted(inner_type) + " to " + quoted(raw.type) + " is defined",
           "bits can only be copied");
    }
    return cast(raw.type, std::move(inner), c.saturate);
  }

  DType leaf_type(const ScalarExpr& raw, DType without_leaves) {
    LeafTypes leaves;
    collect_leaves(raw, places_, leaves);
    if (leaves.failure && !failure) failure = leaves.failure;
    return leaves.type.value_or(without_leaves);
  }

  static ScalarExpr folded(const ScalarExpr& e) {
    const Scalar value = evaluate(e, nullptr);
    return constant(as_double(e.type, value), e.type);
  }

  Places places_;
};

}  // namespace

Result<ScalarExpr> elaborate(const ScalarExpr& raw, DType output, const SourceLocation& where,
                             const std::vector<SourceLocation>& read_where) {
  Typing typing({where, read_where});
  ScalarExpr typed = typing.in_context(raw, output);
  if (typing.failure) return *typing.failure;
  return typed;
}

}  // namespace isamap
