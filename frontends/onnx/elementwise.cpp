// SPDX-License-Identifier: Apache-2.0
// Element-wise operators: a formula each. `x` is the element, `y`, `z` those of further inputs; {name} is an attribute.

#include <fmt/format.h>

#include "frontends/onnx/maker.h"

namespace isamap::importing {
namespace {

/// Replaces the words x, y, z of a formula.
std::string with_operands(const std::string& formula, const std::vector<std::string>& operands) {
  std::string text;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const auto letter = [&](std::size_t at) {
      return at < formula.size() && (std::isalnum(static_cast<unsigned char>(formula[at])) != 0 || formula[at] == '_');
    };
    const char c = formula[i];
    const bool alone = c >= 'x' && c <= 'z' && !letter(i + 1) && (i == 0 || !letter(i - 1));
    if (alone && static_cast<std::size_t>(c - 'x') < operands.size())
      text += operands[static_cast<std::size_t>(c - 'x')];
    else
      text += c;
  }
  return text;
}

/// All inputs, broadcast, under one formula; the result has `type`.
void apply(Maker& m, const std::string& formula, DType type) {
  Sizes shape;
  for (std::size_t i = 0; i < m.count(); ++i)
    if (m.has(i)) shape = i == 0 ? m.shape(0) : broadcast(shape, m.shape(i));
  const Names names = iterators(shape.size());
  std::vector<std::string> operands;
  for (std::size_t i = 0; i < m.count(); ++i)
    operands.push_back(m.has(i) ? access("X" + std::to_string(i), broadcast_index(m.shape(i), shape, names)) : "");
  m.result("Y", 0, type, shape);
  m.say(access("Y", names) + " = " + with_operands(formula, operands), extents_of(names, shape));
}

struct Formula {
  const char* text;
  std::map<std::string, double> attributes = {};  ///< with their defaults
};

/// max(x, 0) + log(1 + e), e = exp(-|x|). Of a small e the logarithm is that of the rounded 1 + e, scaled by how much
/// of e it has (Kahan: "Mathematics written in sand", 1983); of one that is lost it is e.
constexpr const char* softplus =
    "max(x, 0) + select(1 + exp(-abs(x)) == 1, exp(-abs(x)), "
    "log(1 + exp(-abs(x))) * (exp(-abs(x)) / ((1 + exp(-abs(x))) - 1)))";

/// Formulas of one input, in the input's type.
const std::map<std::string, Formula>& unary_formulas() {
  static const std::map<std::string, Formula> all = {
      {"Relu", {"max(x, 0)"}},
      {"LeakyRelu", {"select(max(x, 0), x, {alpha} * x)", {{"alpha", 0.01}}}},
      {"Elu", {"select(max(x, 0), x, {alpha} * (exp(x) - 1))", {{"alpha", 1}}}},
      {"Selu",
       {"{gamma} * select(max(x, 0), x, {alpha} * (exp(x) - 1))",
        {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}}}},
      {"Celu", {"max(0, x) + min(0, {alpha} * (exp(x / {alpha}) - 1))", {{"alpha", 1}}}},
      {"Sigmoid", {"sigmoid(x)"}},
      {"HardSigmoid", {"max(0, min(1, {alpha} * x + {beta}))", {{"alpha", 0.2}, {"beta", 0.5}}}},
      {"HardSwish", {"x * max(0, min(1, x / 6 + 0.5))"}},
      {"Swish", {"x * sigmoid({alpha} * x)", {{"alpha", 1}}}},
      {"Mish", {"x * tanh({softplus})"}},
      {"Tanh", {"tanh(x)"}},
      {"Softplus", {"{softplus}"}},
      {"Softsign", {"x / (1 + abs(x))"}},
      {"ThresholdedRelu", {"select(max(x - {alpha}, 0), x, 0)", {{"alpha", 1}}}},
      {"Shrink",
       {"select(max(x - {lambd}, 0), x - {bias}, select(min(x + {lambd}, 0), x + {bias}, 0))",
        {{"lambd", 0.5}, {"bias", 0}}}},
      {"Erf", {"erf(x)"}},
      {"Exp", {"exp(x)"}},
      {"Log", {"log(x)"}},
      {"Sqrt", {"sqrt(x)"}},
      {"Reciprocal", {"1 / x"}},
      {"Abs", {"abs(x)"}},
      {"Neg", {"-x"}},
      {"Round", {"round(x)"}},
      {"Sign", {"sign(x)"}},
      {"Floor", {"floor(x)"}},
      {"Ceil", {"ceil(x)"}},
      {"Sin", {"sin(x)"}},
      {"Cos", {"cos(x)"}},
      {"Tan", {"tan(x)"}},
      {"Asin", {"asin(x)"}},
      {"Acos", {"acos(x)"}},
      {"Atan", {"atan(x)"}},
      {"Sinh", {"sinh(x)"}},
      {"Cosh", {"cosh(x)"}},
      {"Asinh", {"asinh(x)"}},
      {"Acosh", {"acosh(x)"}},
      {"Atanh", {"atanh(x)"}},
      {"BitwiseNot", {"bitnot(x)"}},
      {"Not", {"not x"}},
  };
  return all;
}

void make_unary(Maker& m) {
  const Formula& formula = unary_formulas().at(m.node.op);
  std::string text = formula.text;
  const auto put = [&](const std::string& word, const std::string& by) {
    for (std::size_t at; (at = text.find("{" + word + "}")) != std::string::npos;)
      text.replace(at, word.size() + 2, by);
  };
  put("softplus", softplus);
  for (const auto& [attribute, otherwise] : formula.attributes) {
    const std::string value = number(m.real(attribute, otherwise));
    put(attribute, value.starts_with("-") ? "(" + value + ")" : value);
  }
  if (m.count() > 1) throw contradiction("the operator has one input");
  const DType type = m.dtype(0);
  const bool of_floats = (m.node.op == "Erf" || m.node.op == "Shrink") && !is_float(type);
  if (of_floats)  // computed in floats that hold the integers, and truncated
    text = fmt::format("{}({})", name(type), with_operands(text, {bytes(type) < 4 ? "f32(x)" : "f64(x)"}));
  apply(m, text, type);
}

/// x * sigmoid(alpha*x) * y
void make_swiglu(Maker& m) {
  const Names i = iterators(m.shape(0).size());
  if (m.shape(1) != m.shape(0)) throw contradiction("its inputs differ in shape");
  m.result("Y", 0, m.dtype(0), m.shape(0));
  m.say(fmt::format("{0} = {1} * sigmoid({2} * {1}) * {3}", access("Y", i), access("X0", i), number(m.real("alpha", 1)),
                    access("X1", i)),
        extents_of(i, m.shape(0)));
}

void make_gelu(Maker& m) {
  const bool approximate = m.text("approximate", "none") == "tanh";
  apply(m,
        approximate ? "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))"
                    : "0.5 * x * (1 + erf(x * 0.7071067811865476))",
        m.dtype(0));
}

/// Two inputs of one type.
template <char Operator>
void make_binary(Maker& m) {
  if (m.count() != 2) throw contradiction("the operator has two inputs");
  if (m.dtype(0) != m.dtype(1))
    throw contradiction(fmt::format("its inputs are {} and {}", name(m.dtype(0)), name(m.dtype(1))),
                        "they have one type: insert a Cast");
  if (m.opset < 7 && m.integer("broadcast", 0) != 0 && m.rank(1) > 0 && m.states("axis")) {
    // Before set 7 the second input's dimensions stand from `axis` on.
    Sizes shape = m.shape(1);
    const std::size_t axis = m.axis(m.integer("axis", 0), m.shape(0).size());
    const Names i = iterators(m.shape(0).size());
    Names j(i.begin() + static_cast<std::ptrdiff_t>(axis), i.end());
    j.resize(std::min(j.size(), shape.size()));
    m.result("Y", 0, m.dtype(0), m.shape(0));
    m.say(access("Y", i) + " = " + access("X0", i) + " " + Operator + " " + access("X1", j), extents_of(i, m.shape(0)));
    return;
  }
  apply(m, std::string("x ") + Operator + " y", m.dtype(0));
}

/// Any number of inputs, combined in pairs from the left.
void apply_to_all(Maker& m, const std::string& before, const std::string& between, const std::string& after) {
  Sizes shape = m.shape(0);
  for (std::size_t i = 1; i < m.count(); ++i) shape = broadcast(shape, m.shape(i));
  const Names names = iterators(shape.size());
  std::string text;
  for (std::size_t i = 0; i < m.count(); ++i) {
    const std::string operand = access("X" + std::to_string(i), broadcast_index(m.shape(i), shape, names));
    text = i == 0 ? operand : before + text + between + operand + (before.empty() ? "" : ")");
  }
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", names) + " = " + (after.empty() ? text : "(" + text + ")" + after), extents_of(names, shape));
}

void make_max(Maker& m) { apply_to_all(m, "max(", ", ", ""); }
void make_min(Maker& m) { apply_to_all(m, "min(", ", ", ""); }
void make_sum(Maker& m) { apply_to_all(m, "", " + ", ""); }
void make_mean(Maker& m) { apply_to_all(m, "", " + ", " / " + std::to_string(m.count())); }

void make_prelu(Maker& m) {
  if (m.opset < 7 && m.rank(1) == 1 && m.rank(0) > 1 && m.shape(1)[0] == m.shape(0)[1]) {
    const Names i = iterators(m.shape(0).size());
    m.result("Y", 0, m.dtype(0), m.shape(0));
    const std::string x = access("X0", i);
    m.say(access("Y", i) + " = select(max(" + x + ", 0), " + x + ", X1[" + i[1] + "] * " + x + ")",
          extents_of(i, m.shape(0)));
    return;
  }
  apply(m, "select(max(x, 0), x, y * x)", m.dtype(0));
}

/// The bounds are attributes before set 11, then inputs.
void make_clip(Maker& m) {
  std::string text = "x";
  if (m.opset < 11) {
    if (m.states("min")) text = "max(" + text + ", " + number(m.real("min", 0)) + ")";
    if (m.states("max")) text = "min(" + text + ", " + number(m.real("max", 0)) + ")";
  } else {
    if (m.has(1)) text = "max(" + text + ", y)";
    if (m.has(2)) text = "min(" + text + ", z)";
  }
  apply(m, text, m.dtype(0));
}

void convert_to(Maker& m, DType to) {
  const DType from = m.dtype(0);
  if (to == from) return m.pass(0, m.in(0));
  const bool small_float = to == DType::e4m3 || to == DType::e5m2;
  const bool saturate = small_float && m.integer("saturate", 1) != 0;
  const Names i = iterators(m.shape(0).size());
  m.result("Y", 0, to, m.shape(0));
  m.say(access("Y", i) + " = " + (saturate ? "sat_" : "") + std::string(name(to)) + "(" + access("X0", i) + ")",
        extents_of(i, m.shape(0)));
}

/// Integers of less than a byte, by ONNX's number: the low bits of the whole number, as in two's complement.
struct NarrowInteger {
  int onnx = 0;
  DType dtype = DType::u8;
  int bits = 4;
};
constexpr NarrowInteger narrow_integers[] = {
    {21, DType::u8, 4}, {22, DType::s8, 4}, {25, DType::u8, 2}, {26, DType::s8, 2}};

void convert_to(Maker& m, const NarrowInteger& to) {
  const Names i = iterators(m.shape(0).size());
  const std::string x = fmt::format("s32({})", access("X0", i));
  const int mask = (1 << to.bits) - 1, half = to.dtype == DType::s8 ? 1 << (to.bits - 1) : 0;
  m.result("Y", 0, to.dtype, m.shape(0));
  m.narrow_result("Y", to.bits);
  m.say(fmt::format("{} = {}(bitand({} + {}, {}) - {})", access("Y", i), name(to.dtype), x, half, mask, half),
        extents_of(i, m.shape(0)));
}

void make_cast(Maker& m) {
  for (const NarrowInteger& narrow : narrow_integers)
    if (narrow.onnx == m.integer("to", 0)) return convert_to(m, narrow);
  const auto to = dtype_of_onnx(static_cast<int>(m.integer("to", 0)));
  if (!to) throw Refused{fmt::format("a cast to ONNX's type {}, which kernels do not have", m.integer("to", 0)), ""};
  convert_to(m, *to);
}

void make_cast_like(Maker& m) {
  if (const int narrow = m.in(1).narrow; narrow > 0) return convert_to(m, {0, m.dtype(1), narrow});
  convert_to(m, m.dtype(1));
}

/// The same bits as another type of that width: of integers a cast; the bits of floats are known of constants only.
void make_bit_cast(Maker& m) {
  const auto to = dtype_of_onnx(static_cast<int>(m.integer("to", 0)));
  const DType from = m.dtype(0);
  if (!to || m.in(0).narrow > 0) throw Refused{"a type that kernels do not have", ""};
  if (bits(*to) != bits(from)) throw contradiction("its types differ in width");
  if (!is_float(from) && !is_float(*to)) return convert_to(m, *to);
  if (*to == from) return m.pass(0, m.in(0));
  if (!m.in(0).values) throw Refused{"the bits of floats as integers, of values that are no constants", ""};
  auto data = std::make_shared<TensorData>(*m.in(0).values);
  data->dtype = *to;
  m.pass(0, {*to, m.shape(0), {}, data, ""});
}

/// Formulas of two inputs of one type whose result is a truth value, or of the inputs' type.
const std::map<std::string, const char*>& comparisons() {
  static const std::map<std::string, const char*> all = {
      {"Equal", "x == y"},       {"Greater", "x > y"}, {"Less", "x < y"}, {"GreaterOrEqual", "x >= y"},
      {"LessOrEqual", "x <= y"}, {"And", "x and y"},   {"Or", "x or y"},  {"Xor", "x != y"}};
  return all;
}
const std::map<std::string, const char*>& integer_formulas() {
  static const std::map<std::string, const char*> all = {
      {"BitwiseAnd", "bitand(x, y)"}, {"BitwiseOr", "bitor(x, y)"}, {"BitwiseXor", "bitxor(x, y)"}};
  return all;
}

void make_comparison(Maker& m) {
  if (m.opset < 7 && m.integer("broadcast", 0) != 0 && m.shape(0) != m.shape(1))
    throw Refused{"operands are aligned as before operator set 7", "export it with a later set"};
  apply(m, comparisons().at(m.node.op), DType::boolean);
}

void make_integer(Maker& m) { apply(m, integer_formulas().at(m.node.op), m.dtype(0)); }

/// A shift by the width or more leaves nothing of an unsigned number.
void make_bit_shift(Maker& m) { apply(m, m.text("direction", "") == "LEFT" ? "shl(x, y)" : "shr(x, y)", m.dtype(0)); }

void make_mod(Maker& m) { apply(m, m.integer("fmod", 0) != 0 ? "fmod(x, y)" : "mod(x, y)", m.dtype(0)); }

/// Formulas of powers with a whole exponent of one to three, which a library function takes fifty times as long for;
/// empty: another exponent, or one that is not known.
std::string known_power(const Maker& m) {
  const Value& exponent = m.in(1);
  if (exponent.values == nullptr || product_of(exponent.shape) != 1 || !is_float(m.dtype(0))) return "";
  const double value = m.reals(1, "the exponent").front();
  return value == 1 ? "x" : value == 2 ? "x * x" : value == 3 ? "x * x * x" : "";
}

/// The result has the type of the base; of two types it is computed in f64.
void make_pow(Maker& m) {
  const DType type = m.dtype(0);
  if (const std::string formula = known_power(m); !formula.empty()) return apply(m, formula, type);
  if (m.dtype(1) == type) return apply(m, "pow(x, y)", type);
  apply(m, std::string(name(type)) + "(pow(f64(x), f64(y)))", type);
}

void make_is_nan(Maker& m) { apply(m, "isnan(x)", DType::boolean); }

void make_is_inf(Maker& m) {
  const bool positive = m.integer("detect_positive", 1) != 0, negative = m.integer("detect_negative", 1) != 0;
  apply(m,
        positive && negative ? "isinf(x)"
        : positive           ? "isinf(x) and x > 0"
        : negative           ? "isinf(x) and x < 0"
                             : "isinf(x) and not isinf(x)",
        DType::boolean);
}

void make_where(Maker& m) { apply(m, "select(x, y, z)", m.dtype(1)); }

}  // namespace

const Makers& elementwise_makers() {
  static const Makers all = [] {
    Makers makers = {{"Add", &make_binary<'+'>},  {"Sub", &make_binary<'-'>}, {"Mul", &make_binary<'*'>},
                     {"Div", &make_binary<'/'>},  {"Max", &make_max},         {"Min", &make_min},
                     {"Sum", &make_sum},          {"Mean", &make_mean},       {"PRelu", &make_prelu},
                     {"Clip", &make_clip},        {"Cast", &make_cast},       {"CastLike", &make_cast_like},
                     {"BitCast", &make_bit_cast}, {"Where", &make_where},     {"Gelu", &make_gelu},
                     {"SwiGLU", &make_swiglu}};
    for (const auto& [name, formula] : unary_formulas()) makers[name] = &make_unary;
    for (const auto& [name, formula] : comparisons()) makers[name] = &make_comparison;
    for (const auto& [name, formula] : integer_formulas()) makers[name] = &make_integer;
    makers["BitShift"] = &make_bit_shift;
    makers["Mod"] = &make_mod;
    makers["Pow"] = &make_pow;
    makers["IsNaN"] = &make_is_nan;
    makers["IsInf"] = &make_is_inf;
    return makers;
  }();
  return all;
}

}  // namespace isamap::importing
