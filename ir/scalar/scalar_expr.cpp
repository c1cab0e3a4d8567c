// SPDX-License-Identifier: Apache-2.0
// Building, evaluating and printing scalar bodies; typing is in ir/scalar/scalar_typing.cpp.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "ir/scalar/scalar_functions.h"
#include "isamap/expression.h"
#include "isamap/result.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

Scalar rounded(DType type, double value) {
  Scalar result;
  result.real = round_to(type, value);
  return result;
}

Scalar wrapped(DType type, std::int64_t value) {
  Scalar result;
  result.integer = wrap_to(type, value);
  return result;
}

// A function of floats: a float, or a truth value.
Scalar of_real(DType type, double value) {
  return is_float(type) ? rounded(type, value) : wrapped(type, value != 0 ? 1 : 0);
}

// The largest 64-bit integer, the identity of min, is no double: 2^63 represents it.
Scalar constant_value(double value, DType type) { return convert({value, 0}, DType::f64, type, is_integer(type)); }

Scalar evaluate_unary(const ScalarExpr& e, UnaryOp op, const Scalar* operands) {
  const Scalar a = evaluate(e.args[0], operands);
  if (!is_float(e.args[0].type)) return wrapped(e.type, apply_integer(op, e.args[0].type, a.integer));
  return of_real(e.type, apply_real(op, a.real));
}

Scalar evaluate_binary(const ScalarExpr& e, BinaryOp op, const Scalar* operands) {
  const Scalar a = evaluate(e.args[0], operands);
  const Scalar b = evaluate(e.args[1], operands);
  if (!is_float(e.args[0].type)) return wrapped(e.type, apply_integer(op, e.args[0].type, a.integer, b.integer));
  return of_real(e.type, apply_real(op, a.real, b.real));
}

Scalar evaluate_select(const ScalarExpr& e, const Scalar* operands) {
  const Scalar condition = evaluate(e.args[0], operands);
  const bool holds = is_float(e.args[0].type) ? condition.real != 0 : condition.integer != 0;
  return evaluate(e.args[holds ? 1 : 2], operands);
}

void collect_reads(const ScalarExpr& e, std::vector<int>& found) {
  if (const Read* r = std::get_if<Read>(&e.op)) {
    if (std::find(found.begin(), found.end(), r->access) == found.end()) found.push_back(r->access);
  }
  for (const ScalarExpr& arg : e.args) collect_reads(arg, found);
}

// The shortest text that parses to this value. A constant of f32 or less is an f32, with fewer digits.
std::string print_number(double value, DType type) {
  std::array<char, 40> buffer;
  const bool narrow = is_float(type) && type != DType::f64 && static_cast<double>(static_cast<float>(value)) == value;
  const auto end = narrow ? std::to_chars(buffer.begin(), buffer.end(), static_cast<float>(value)).ptr
                          : std::to_chars(buffer.begin(), buffer.end(), value).ptr;
  return std::string(buffer.begin(), end);
}

struct Shown {
  std::string text;
  int level = binding::primary;
};

Shown show(const ScalarExpr& e, const std::vector<std::string>& names);

std::string show_at(const ScalarExpr& e, const std::vector<std::string>& names, int level) {
  const Shown inner = show(e, names);
  return inner.level < level ? "(" + inner.text + ")" : inner.text;
}

std::string show_call(std::string_view function, const ScalarExpr& e, const std::vector<std::string>& names) {
  std::string text = std::string(function) + "(";
  for (std::size_t i = 0; i < e.args.size(); ++i) text += (i > 0 ? ", " : "") + show_at(e.args[i], names, 0);
  return text + ")";
}

Shown show_unary(const ScalarExpr& e, UnaryOp op, const std::vector<std::string>& names) {
  const ScalarFunction& f = function_of(op).common;
  if (f.level == binding::primary) return {show_call(f.name, e, names)};
  if (op != UnaryOp::negate) return {std::string(f.name) + " " + show_at(e.args[0], names, f.level), f.level};
  const std::string inner = show_at(e.args[0], names, binding::primary), sign(f.name);
  // "--1" would be one token in C; a constant would be folded into its sign.
  const bool needs_parentheses = inner.front() == '-' || std::holds_alternative<Constant>(e.args[0].op);
  return {needs_parentheses ? sign + "(" + inner + ")" : sign + inner, f.level};
}

Shown show_binary(const ScalarExpr& e, BinaryOp op, const std::vector<std::string>& names) {
  const ScalarFunction& f = function_of(op).common;
  if (f.level == binding::primary) return {show_call(f.name, e, names)};
  const int first = f.level == binding::comparison ? f.level + 1 : f.level;  // comparisons do not chain
  return {show_at(e.args[0], names, first) + " " + std::string(f.name) + " " + show_at(e.args[1], names, f.level + 1),
          f.level};
}

/// A select between constants has no operand that gives its type; a comparison is a truth value.
bool shows_its_type(const ScalarExpr& e) {
  if (const auto* u = std::get_if<Unary>(&e.op); u && function_of(u->op).common.operands != Operands::of_context)
    return true;
  if (const auto* b = std::get_if<Binary>(&e.op); b && function_of(b->op).common.operands != Operands::of_context)
    return true;
  if (std::holds_alternative<Read>(e.op) || std::holds_alternative<Cast>(e.op)) return true;
  const std::ptrdiff_t first = std::holds_alternative<Select>(e.op) ? 1 : 0;
  return std::any_of(e.args.begin() + std::min<std::ptrdiff_t>(first, std::ssize(e.args)), e.args.end(),
                     shows_its_type);
}

Shown show_cast(const ScalarExpr& e, bool saturate, const std::vector<std::string>& names) {
  const ScalarExpr& from = e.args[0];
  const DType taken =
      is_float(e.type) ? e.type : DType::f64;  // the type when a cast of constants is parsed (scalar_typing.cpp)
  const std::string to = (saturate ? "sat_" : "") + std::string(name(e.type));
  if (shows_its_type(from) || from.type == taken) return {show_call(to, e, names)};
  return {to + "(" + show_call(name(from.type), e, names) + ")"};
}

Shown show(const ScalarExpr& e, const std::vector<std::string>& names) {
  return std::visit(
      overloaded{
          [&](const Constant& c) {
            return Shown{print_number(c.value, e.type), std::signbit(c.value) ? binding::product : binding::primary};
          },
          [&](const Read& r) { return Shown{names.at(static_cast<std::size_t>(r.access))}; },
          [&](const Unary& u) { return show_unary(e, u.op, names); },
          [&](const Binary& b) { return show_binary(e, b.op, names); },
          [&](const Select&) { return Shown{show_call("select", e, names)}; },
          [&](const Cast& c) { return show_cast(e, c.saturate, names); }},
      e.op);
}

}  // namespace

ScalarExpr constant(double value, DType type) { return {Constant{value}, type, {}}; }
ScalarExpr read(int access, DType type) { return {Read{access}, type, {}}; }

ScalarExpr unary(UnaryOp op, ScalarExpr a) {
  const DType type = result_type(op, a.type);
  return {Unary{op}, type, {std::move(a)}};
}

ScalarExpr binary(BinaryOp op, ScalarExpr a, ScalarExpr b) {
  const DType type = result_type(op, a.type);
  return {Binary{op}, type, {std::move(a), std::move(b)}};
}

ScalarExpr cast(DType to, ScalarExpr a, bool saturate) { return {Cast{saturate}, to, {std::move(a)}}; }

Scalar evaluate(const ScalarExpr& e, const Scalar* operands) {
  return std::visit(overloaded{[&](const Constant& c) { return constant_value(c.value, e.type); },
                               [&](const Read& r) { return operands[r.access]; },
                               [&](const Unary& u) { return evaluate_unary(e, u.op, operands); },
                               [&](const Binary& b) { return evaluate_binary(e, b.op, operands); },
                               [&](const Select&) { return evaluate_select(e, operands); },
                               [&](const Cast& c) {
                                 return convert(evaluate(e.args[0], operands), e.args[0].type, e.type, c.saturate);
                               }},
                    e.op);
}

std::vector<int> reads_of(const ScalarExpr& e) {
  std::vector<int> found;
  collect_reads(e, found);
  return found;
}

std::string print(const ScalarExpr& e, const std::vector<std::string>& names) { return show(e, names).text; }

}  // namespace isamap
