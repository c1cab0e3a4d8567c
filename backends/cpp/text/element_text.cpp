// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/element_text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "backends/cpp/text/helpers.h"
#include "backends/cpp/text/types.h"
#include "ir/scalar/scalar_functions.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

bool is_small_float(DType type) { return is_float(type) && type != DType::f64 && type != DType::f32; }

/// The computation type.
std::string computed_type(DType type) {
  if (type == DType::f64) return "double";
  if (is_float(type)) return "float";
  return portable_type(type);
}

std::string call(const std::string& function, const std::string& a) { return function + "(" + a + ")"; }
std::string call(const std::string& function, const std::string& a, const std::string& b) {
  return function + "(" + a + ", " + b + ")";
}

}  // namespace

std::string ElementText::helper(const std::string& name) {
  used_.insert(name);
  return name;
}

std::string ElementText::permuted(const XorSwizzle& swizzle, int size, const std::string& number) {
  return fmt::format("{}<{}, {}, {}, {}>({})", helper("permuted"), swizzle.bits, swizzle.from, swizzle.to, size,
                     number);
}

std::string ElementText::part_of_register(const std::string& type, const std::string& held, std::int64_t number) {
  return fmt::format("{}<{}, {}>{{{}}}", helper("part_of"), type, number, held);  // braces: no declaration
}

std::string ElementText::floor_div(const std::string& numerator, std::int64_t divisor) {
  return call(helper("floor_div"), numerator, std::to_string(divisor));
}

std::string ElementText::clamped_index(const std::string& value, std::int64_t last) {
  return call(helper("clamped_index"), value, std::to_string(last));
}

std::string ElementText::load(DType type, const std::string& place) {
  if (!is_small_float(type)) return place;
  std::string raw = place;
  if (element_type(model_, type) != portable_type(type))
    raw = call(helper("bits_as") + "<" + portable_type(type) + ">", place);
  return call(helper(std::string(name(type)) + "_value"), raw);
}

std::string ElementText::store(DType type, const std::string& value) {
  if (!is_small_float(type)) return value;
  const std::string raw = call(helper(std::string(name(type)) + "_bits"), value);
  if (element_type(model_, type) == portable_type(type)) return raw;
  return call(helper("bits_as") + "<" + element_type(model_, type) + ">", raw);
}

std::string ElementText::stored(double number, DType type) {
  const std::string text = store(type, constant(number, type));
  const bool is_stored = is_small_float(type) || element_type(model_, type) == portable_type(type);
  return is_stored ? text : call("static_cast<" + element_type(model_, type) + ">", text);
}

std::string ElementText::rounded(DType type, const std::string& value) {
  if (type == DType::f64) return value;
  if (type == DType::f32) return call("float", value);
  return call(helper("round_" + std::string(name(type))), value);
}

std::string ElementText::constant(double value, DType type) {
  if (!is_float(type)) {
    const Scalar number = evaluate(isamap::constant(value, type), nullptr);
    if (is_wide_unsigned(type)) return call(portable_type(type), integer_text(type, number) + "u");
    const std::int64_t whole = number.integer;
    const bool lowest = whole == std::numeric_limits<std::int64_t>::min();  // -2^63 is not expressible as a literal
    return call(portable_type(type), lowest ? std::to_string(whole + 1) + " - 1" : std::to_string(whole));
  }
  const double exact = round_to(type, value);
  const std::string computed = computed_type(type);
  if (!std::isfinite(exact)) {
    includes_.insert("<limits>");
    const std::string limits = "std::numeric_limits<" + computed + ">::";
    return std::isnan(exact) ? limits + "quiet_NaN()" : (exact < 0 ? "-" : "") + limits + "infinity()";
  }
  std::string text = type == DType::f64 ? fmt::format("{}", exact) : fmt::format("{}", static_cast<float>(exact));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (type != DType::f64) text += "f";
  return text.front() == '-' ? "(" + text + ")" : text;
}

std::string ElementText::cast(const Cast& how, DType from, DType to, const std::string& value) {
  const std::string type = portable_type(to);
  if (is_truth(to)) return call(type, "(" + value + ") != 0");
  if (is_float(from) && is_float(to)) {
    if (how.saturate && saturates(to)) return call(helper("clamp_" + std::string(name(to))), value);
    if (to == DType::f64) return call("double", value);
    return widens(from, to) ? value : rounded(to, value);
  }
  if (is_float(to)) {
    if (!is_small_float(to)) return call(computed_type(to), value);
    const std::string exact =
        is_integer(from) && bits(from) == 64 ? call(helper("odd_double"), value) : call("double", value);
    const bool clamps = how.saturate && saturates(to);
    return clamps ? call(helper("clamp_" + std::string(name(to))), exact) : rounded(to, exact);
  }
  const bool clamps = how.saturate && is_integer(to);
  if (is_float(from)) return call(helper(clamps ? "truncate_clamped" : "truncate_wrapped") + "<" + type + ">", value);
  if (!clamps || (to == DType::s64 && widens(from, to))) return call(type, value);
  return call(helper("clamp_to") + "<" + type + ">", value);
}

std::string ElementText::function(const ScalarFunction& f, DType type, const std::string& a, const std::string& b) {
  if (const std::string own = "float_" + std::string(f.name); own_functions_ && type == DType::f32 && is_helper(own)) {
    includes_.insert("<cmath>");
    return b.empty() ? call(helper(own), a) : call(helper(own), a, b);
  }
  const bool real = is_float(type);
  if (const std::string_view used = real ? f.helper : f.integer_helper; !used.empty()) helper(std::string(used));
  const std::string_view text = real ? f.text : f.integer_text;
  if (text.find("std::") != std::string_view::npos) includes_.insert("<cmath>");
  const bool widened = real && f.printed == Printed::wide && type != DType::f64;
  const std::string plain = fmt::format(fmt::runtime(text), fmt::arg("a", widened ? call("double", a) : a),
                                        fmt::arg("b", widened ? call("double", b) : b),
                                        fmt::arg("T", real ? computed_type(type) : portable_type(type)));
  if (f.operands != Operands::of_context) return call(portable_type(DType::boolean), plain);
  if (!real || f.printed == Printed::value) return plain;
  return f.printed == Printed::operation && !is_small_float(type) ? "(" + plain + ")" : rounded(type, plain);
}

std::string ElementText::unary(UnaryOp op, DType type, const std::string& a) {
  return function(function_of(op).common, type, a, "");
}

std::string ElementText::binary(BinaryOp op, DType type, const std::string& a, const std::string& b) {
  return function(function_of(op).common, type, a, b);
}

std::string ElementText::value(const ScalarExpr& e, const std::vector<std::string>& places) {
  const auto arg = [&](std::size_t i) { return value(e.args[i], places); };
  return std::visit(overloaded{
                        [&](const Constant& c) { return constant(c.value, e.type); },
                        [&](const Read& r) { return load(e.type, places[static_cast<std::size_t>(r.access)]); },
                        [&](const Unary& u) { return unary(u.op, e.args[0].type, arg(0)); },
                        [&](const Binary& b) { return binary(b.op, e.args[0].type, arg(0), arg(1)); },
                        [&](const Select&) {
                          return fmt::format("{}<{}>({} != 0, {}, {})", helper("selected"), computed_type(e.type),
                                             arg(0), arg(1), arg(2));
                        },
                        [&](const Cast& c) { return cast(c, e.args[0].type, e.type, arg(0)); },
                    },
                    e.op);
}

std::string ElementText::statement(Reduction reduction, DType type, const std::string& place, const ScalarExpr& body,
                                   const std::vector<std::string>& places, const std::string& old) {
  if (reduction == Reduction::assign && std::holds_alternative<Read>(body.op))
    return place + " = " + places[static_cast<std::size_t>(std::get<Read>(body.op).access)] + ";";
  std::string text = value(body, places);
  if (reduction != Reduction::assign) {
    const BinaryOp ops[] = {BinaryOp::add, BinaryOp::add, BinaryOp::mul, BinaryOp::max, BinaryOp::min};
    text = binary(ops[static_cast<int>(reduction)], type, load(type, old.empty() ? place : old), text);
  }
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {  // the outermost pair, if it is one
    int depth = 0;
    std::size_t i = 0;
    for (; i + 1 < text.size(); ++i)
      if ((depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0) == 0) break;
    if (i + 1 == text.size()) text = text.substr(1, text.size() - 2);
  }
  return place + " = " + store(type, text) + ";";
}

}  // namespace isamap
