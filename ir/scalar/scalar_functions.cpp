// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar/scalar_functions.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace isamap {
namespace {

using Integer = std::int64_t;
using Bits = std::uint64_t;

/// A function of integers without sign, of their bits.
template <auto function>
Integer of_bits(Integer a, Integer b) {
  return static_cast<Integer>(function(static_cast<Bits>(a), static_cast<Bits>(b)));
}

/// A function of the C library, computed in double.
constexpr ScalarFunction library(std::string_view name, std::string_view text) { return {.name = name, .text = text}; }

/// To a whole number; those of integers are the number.
constexpr ScalarFunction whole(std::string_view name, std::string_view text) {
  return {.name = name, .accuracy = Accuracy::exact, .printed = Printed::whole, .text = text, .integer_text = "{a}"};
}

constexpr ScalarFunction arithmetic(std::string_view name, int level, std::string_view text,
                                    std::string_view integer_text, std::string_view integer_helper,
                                    std::string_view smt) {
  return {.name = name,
          .level = level,
          .accuracy = Accuracy::rounded,
          .printed = Printed::operation,
          .text = text,
          .integer_text = integer_text,
          .integer_helper = integer_helper,
          .smt = smt};
}

constexpr ScalarFunction of_two(std::string_view name, std::string_view text, std::string_view helper) {
  return {.name = name,
          .accuracy = Accuracy::exact,
          .printed = Printed::value,
          .text = text,
          .integer_text = text,
          .helper = helper,
          .integer_helper = helper,
          .of_truth = true};
}

double own_error(const Estimate& a) { return a.error; }
double sum_of_errors(const Estimate& a, const Estimate& b, double) { return a.error + b.error; }
double larger_error(const Estimate& a, const Estimate& b, double) { return std::max(a.error, b.error); }

double error_of_product(const Estimate& a, const Estimate& b, double) {
  return std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error;
}

double error_of_quotient(const Estimate& a, const Estimate& b, double value) {
  const double near = std::fabs(b.value) - b.error;
  if (b.error == 0 && a.error == 0) return 0;
  return near > 0 ? (a.error + std::fabs(value) * b.error) / near : INFINITY;
}

constexpr ScalarFunction test(std::string_view name, int level, std::string_view text, std::string_view integer_text) {
  return {.name = name,
          .level = level,
          .operands = Operands::of_any,
          .accuracy = Accuracy::exact,
          .printed = Printed::value,
          .text = text,
          .integer_text = integer_text,
          .of_truth = !integer_text.empty()};
}

constexpr ScalarFunction comparison(std::string_view sign, std::string_view text) {
  return test(sign, binding::comparison, text, text);
}

constexpr ScalarFunction logic(std::string_view name, int level, std::string_view text) {
  return {.name = name,
          .level = level,
          .operands = Operands::truth,
          .accuracy = Accuracy::exact,
          .printed = Printed::value,
          .integer_text = text,
          .of_truth = true};
}

constexpr ScalarFunction of_integers(std::string_view name, std::string_view text, std::string_view helper = "") {
  return {.name = name,
          .accuracy = Accuracy::exact,
          .printed = Printed::value,
          .integer_text = text,
          .integer_helper = helper};
}

Integer power(Integer a, Integer n) {
  if (n < 0) return a == 1 ? 1 : a == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
  Integer result = 1;
  for (; n > 0; n >>= 1, a = wrapping::mul(a, a))
    if (n % 2 == 1) result = wrapping::mul(result, a);
  return result;
}

Bits bit_power(Bits a, Bits n) {
  Bits result = 1;
  for (; n > 0; n >>= 1, a *= a)
    if (n % 2 == 1) result *= a;
  return result;
}

Integer remainder(Integer a, Integer b) { return b == 0 || b == -1 ? 0 : a % b; }

Bits bit_remainder(Bits a, Bits b) { return b == 0 ? 0 : a % b; }

Integer floored_remainder(Integer a, Integer b) {
  const Integer r = remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double floored_remainder(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

bool moves_all_out(Integer count) { return count < 0 || count >= 64; }

double periodic_error(const Estimate& a) { return std::min(a.error, 2.0); }  // of sine and cosine

// tan(a + e) - tan(a) = (1 + tan(a)^2) tan(e) / (1 - tan(a) tan(e)), up to the pole.
double error_of_tangent(const Estimate& a) {
  if (a.error == 0) return 0;
  const double t = std::fabs(std::tan(a.value)), s = std::tan(a.error);
  return a.error < 1.5 && t * s < 1 ? (1 + t * t) * s / (1 - t * s) : INFINITY;
}

double error_of_cosh(const Estimate& a) {  // steepest far from 0
  return a.error == 0 ? 0 : std::cosh(std::fabs(a.value) + a.error) - std::cosh(a.value);
}

double error_of_infinity(const Estimate& a) { return a.error == 0 ? 0 : 1; }
double error_of_nan(const Estimate& a) { return a.error < INFINITY ? 0 : 1; }

// By the logarithm b ln(a) where the base is positive, else by the derivative of a whole power.
double error_of_power(const Estimate& a, const Estimate& b, double value) {
  if (a.error == 0 && b.error == 0) return 0;
  const double near = a.value - a.error, far = std::fabs(a.value) + a.error, most = std::fabs(b.value) + b.error;
  if (near > 0) {
    const double steepest = std::max(std::fabs(std::log(near)), std::fabs(std::log(far)));
    return std::fabs(value) * std::expm1(most * a.error / near + steepest * b.error);
  }
  if (b.error > 0 || b.value < 0) return INFINITY;
  if (b.value == 0) return 0;
  if (b.value == std::floor(b.value)) return most * std::pow(far, b.value - 1) * a.error;
  return a.value >= 0 ? std::pow(far, b.value) : INFINITY;
}

// Remainders jump, but stay below the divisor.
double error_of_remainder(const Estimate& a, const Estimate& b, double) {
  if (a.error == 0 && b.error == 0) return 0;
  return std::fabs(b.value) > b.error ? 2 * (std::fabs(b.value) + b.error) : INFINITY;
}

// A comparison holds where its operands are further apart than their errors; else it may be the other truth value.
double error_of_comparison(const Estimate& a, const Estimate& b, double) {
  const double error = a.error + b.error;
  return error == 0 || std::fabs(a.value - b.value) > error ? 0 : 1;
}

// Of two truth values, one of which may decide alone.
template <int decides>
double error_of_logic(const Estimate& a, const Estimate& b, double) {
  const auto is_decided = [](const Estimate& x) { return x.error == 0 && (x.value != 0) == (decides != 0); };
  return is_decided(a) || is_decided(b) ? 0 : std::min(1.0, std::max(a.error, b.error));
}

double error_of_bits(const Estimate& a, const Estimate& b, double) {
  return a.error == 0 && b.error == 0 ? 0 : INFINITY;
}

constexpr auto unary_rows = std::to_array<UnaryFunction>({
    {.op = UnaryOp::negate,
     .common = {.name = "-",
                .level = binding::product,
                .accuracy = Accuracy::exact,
                .printed = Printed::value,
                .text = "(-{a})",
                .integer_text = "wrap_neg({a})",
                .integer_helper = "wrap_neg",
                .smt = "-"},
     .real = [](double a) { return -a; },
     .integer = [](Integer a) { return wrapping::sub(0, a); },
     .propagated = own_error,
     .keeps_magnitude = true},
    {.op = UnaryOp::exp, .common = library("exp", "std::exp({a})"), .real = [](double a) { return std::exp(a); }},
    {.op = UnaryOp::log,
     .common = library("log", "std::log({a})"),
     .real = [](double a) { return std::log(a); },
     .lowest = 0},
    {.op = UnaryOp::sqrt,
     .common = {.name = "sqrt", .accuracy = Accuracy::rounded, .text = "std::sqrt({a})"},
     .real = [](double a) { return std::sqrt(a); },
     .lowest = 0},
    {.op = UnaryOp::rsqrt,
     .common = library("rsqrt", "1 / std::sqrt({a})"),
     .real = [](double a) { return 1.0 / std::sqrt(a); },
     .lowest = 0},
    {.op = UnaryOp::tanh, .common = library("tanh", "std::tanh({a})"), .real = [](double a) { return std::tanh(a); }},
    {.op = UnaryOp::erf, .common = library("erf", "std::erf({a})"), .real = [](double a) { return std::erf(a); }},
    {.op = UnaryOp::sigmoid,
     .common = library("sigmoid", "1 / (1 + std::exp(-{a}))"),
     .real = [](double a) { return 1.0 / (1.0 + std::exp(-a)); }},
    {.op = UnaryOp::abs,
     .common = {.name = "abs",
                .accuracy = Accuracy::exact,
                .printed = Printed::value,
                .text = "std::fabs({a})",
                .integer_text = "wrap_abs({a})",
                .integer_helper = "wrap_abs",
                .smt = "abs"},
     .real = [](double a) { return std::fabs(a); },
     .integer = [](Integer a) { return a < 0 ? wrapping::sub(0, a) : a; },
     .wide = [](Integer a) { return a; },
     .propagated = own_error,
     .keeps_magnitude = true},
    {.op = UnaryOp::round,
     .common = whole("round", "std::nearbyint({a})"),
     .real = [](double a) { return std::nearbyint(a); },
     .integer = [](Integer a) { return a; }},
    {.op = UnaryOp::floor,
     .common = whole("floor", "std::floor({a})"),
     .real = [](double a) { return std::floor(a); },
     .integer = [](Integer a) { return a; }},
    {.op = UnaryOp::ceil,
     .common = whole("ceil", "std::ceil({a})"),
     .real = [](double a) { return std::ceil(a); },
     .integer = [](Integer a) { return a; }},
    {.op = UnaryOp::trunc,
     .common = whole("trunc", "std::trunc({a})"),
     .real = [](double a) { return std::trunc(a); },
     .integer = [](Integer a) { return a; }},
    {.op = UnaryOp::sign,
     .common = {.name = "sign",
                .accuracy = Accuracy::exact,
                .printed = Printed::value,
                .text = "sign_of({a})",
                .integer_text = "sign_of({a})",
                .helper = "sign_of",
                .integer_helper = "sign_of"},
     .real = [](double a) { return a != a ? a : static_cast<double>((a > 0) - (a < 0)); },
     .integer = [](Integer a) { return static_cast<Integer>((a > 0) - (a < 0)); },
     .wide = [](Integer a) { return static_cast<Integer>(a != 0); }},
    {.op = UnaryOp::sin,
     .common = library("sin", "std::sin({a})"),
     .real = [](double a) { return std::sin(a); },
     .propagated = periodic_error},
    {.op = UnaryOp::cos,
     .common = library("cos", "std::cos({a})"),
     .real = [](double a) { return std::cos(a); },
     .propagated = periodic_error},
    {.op = UnaryOp::tan,
     .common = library("tan", "std::tan({a})"),
     .real = [](double a) { return std::tan(a); },
     .propagated = error_of_tangent},
    {.op = UnaryOp::asin,
     .common = library("asin", "std::asin({a})"),
     .real = [](double a) { return std::asin(a); },
     .lowest = -1,
     .highest = 1},
    {.op = UnaryOp::acos,
     .common = library("acos", "std::acos({a})"),
     .real = [](double a) { return std::acos(a); },
     .lowest = -1,
     .highest = 1},
    {.op = UnaryOp::atan, .common = library("atan", "std::atan({a})"), .real = [](double a) { return std::atan(a); }},
    {.op = UnaryOp::sinh, .common = library("sinh", "std::sinh({a})"), .real = [](double a) { return std::sinh(a); }},
    {.op = UnaryOp::cosh,
     .common = library("cosh", "std::cosh({a})"),
     .real = [](double a) { return std::cosh(a); },
     .propagated = error_of_cosh},
    {.op = UnaryOp::asinh,
     .common = library("asinh", "std::asinh({a})"),
     .real = [](double a) { return std::asinh(a); }},
    {.op = UnaryOp::acosh,
     .common = library("acosh", "std::acosh({a})"),
     .real = [](double a) { return std::acosh(a); },
     .lowest = 1},
    {.op = UnaryOp::atanh,
     .common = library("atanh", "std::atanh({a})"),
     .real = [](double a) { return std::atanh(a); },
     .lowest = -1,
     .highest = 1},
    {.op = UnaryOp::expm1,
     .common = library("expm1", "std::expm1({a})"),
     .real = [](double a) { return std::expm1(a); }},
    {.op = UnaryOp::log1p,
     .common = library("log1p", "std::log1p({a})"),
     .real = [](double a) { return std::log1p(a); },
     .lowest = -1},
    {.op = UnaryOp::is_nan,
     .common = test("isnan", binding::primary, "std::isnan({a})", ""),
     .real = [](double a) { return a != a ? 1.0 : 0.0; },
     .propagated = error_of_nan},
    {.op = UnaryOp::is_inf,
     .common = test("isinf", binding::primary, "std::isinf({a})", ""),
     .real = [](double a) { return std::isinf(a) ? 1.0 : 0.0; },
     .propagated = error_of_infinity},
    {.op = UnaryOp::logical_not,
     .common = logic("not", binding::negation, "{a} == 0"),
     .integer = [](Integer a) { return static_cast<Integer>(a == 0); },
     .propagated = own_error},
    {.op = UnaryOp::bit_not,
     .common = of_integers("bitnot", "{T}(~{a})"),
     .integer = [](Integer a) { return ~a; },
     .propagated = own_error},
});

constexpr auto binary_rows = std::to_array<BinaryFunction>({
    {.op = BinaryOp::add,
     .common = arithmetic("+", binding::sum, "{a} + {b}", "wrap_add<{T}>({a}, {b})", "wrap_add", "+"),
     .real = [](double a, double b) { return a + b; },
     .integer = wrapping::add,
     .propagated = sum_of_errors,
     .commutative = true,
     .of_magnitudes = BinaryOp::add},
    {.op = BinaryOp::sub,
     .common = arithmetic("-", binding::sum, "{a} - {b}", "wrap_sub<{T}>({a}, {b})", "wrap_sub", "-"),
     .real = [](double a, double b) { return a - b; },
     .integer = wrapping::sub,
     .propagated = sum_of_errors,
     .of_magnitudes = BinaryOp::add},
    {.op = BinaryOp::mul,
     .common = arithmetic("*", binding::product, "{a} * {b}", "wrap_mul<{T}>({a}, {b})", "wrap_mul", "*"),
     .real = [](double a, double b) { return a * b; },
     .integer = wrapping::mul,
     .propagated = error_of_product,
     .commutative = true,
     .of_magnitudes = BinaryOp::mul},
    {.op = BinaryOp::div,
     .common = arithmetic("/", binding::product, "{a} / {b}", "wrap_div<{T}>({a}, {b})", "wrap_div", ""),
     .real = [](double a, double b) { return a / b; },
     .integer = wrapping::div,
     .wide = of_bits<[](Bits a, Bits b) { return b == 0 ? 0 : a / b; }>,
     .propagated = error_of_quotient},
    {.op = BinaryOp::min,
     .common = of_two("min", "smaller({a}, {b})", "smaller"),
     .real = minimum,
     .integer = [](Integer a, Integer b) { return std::min(a, b); },
     .wide = of_bits<[](Bits a, Bits b) { return std::min(a, b); }>,
     .propagated = larger_error,
     .commutative = true,
     .of_magnitudes = BinaryOp::max},
    {.op = BinaryOp::max,
     .common = of_two("max", "larger({a}, {b})", "larger"),
     .real = maximum,
     .integer = [](Integer a, Integer b) { return std::max(a, b); },
     .wide = of_bits<[](Bits a, Bits b) { return std::max(a, b); }>,
     .propagated = larger_error,
     .commutative = true,
     .of_magnitudes = BinaryOp::max},
    {.op = BinaryOp::pow,
     .common = {.name = "pow",
                .text = "std::pow({a}, {b})",
                .integer_text = "wrap_pow<{T}>({a}, {b})",
                .integer_helper = "wrap_pow"},
     .real = [](double a, double b) { return std::pow(a, b); },
     .integer = power,
     .wide = of_bits<bit_power>,
     .propagated = error_of_power},
    {.op = BinaryOp::mod,
     .common = {.name = "mod",
                .accuracy = Accuracy::rounded,
                .printed = Printed::operation,
                .text = "floored_rest<{T}>({a}, {b})",
                .integer_text = "floored_remainder<{T}>({a}, {b})",
                .helper = "floored_rest",
                .integer_helper = "floored_remainder"},
     .real = floored_remainder,
     .integer = floored_remainder,
     .wide = of_bits<bit_remainder>,
     .propagated = error_of_remainder},
    {.op = BinaryOp::fmod,
     .common = {.name = "fmod",
                .accuracy = Accuracy::exact,
                .printed = Printed::value,
                .text = "std::fmod({a}, {b})",
                .integer_text = "wrap_rem<{T}>({a}, {b})",
                .integer_helper = "wrap_rem"},
     .real = [](double a, double b) { return std::fmod(a, b); },
     .integer = remainder,
     .wide = of_bits<bit_remainder>,
     .propagated = error_of_remainder},
    {.op = BinaryOp::less_equal,
     .common = comparison("<=", "{a} <= {b}"),
     .real = [](double a, double b) { return a <= b ? 1.0 : 0.0; },
     .integer = [](Integer a, Integer b) { return static_cast<Integer>(a <= b); },
     .wide = of_bits<[](Bits a, Bits b) { return a <= b; }>,
     .propagated = error_of_comparison},
    {.op = BinaryOp::less,
     .common = comparison("<", "{a} < {b}"),
     .real = [](double a, double b) { return a < b ? 1.0 : 0.0; },
     .integer = [](Integer a, Integer b) { return static_cast<Integer>(a < b); },
     .wide = of_bits<[](Bits a, Bits b) { return a < b; }>,
     .propagated = error_of_comparison},
    {.op = BinaryOp::greater_equal,
     .common = comparison(">=", "{a} >= {b}"),
     .real = [](double a, double b) { return a >= b ? 1.0 : 0.0; },
     .integer = [](Integer a, Integer b) { return static_cast<Integer>(a >= b); },
     .wide = of_bits<[](Bits a, Bits b) { return a >= b; }>,
     .propagated = error_of_comparison},
    {.op = BinaryOp::greater,
     .common = comparison(">", "{a} > {b}"),
     .real = [](double a, double b) { return a > b ? 1.0 : 0.0; },
     .integer = [](Integer a, Integer b) { return static_cast<Integer>(a > b); },
     .wide = of_bits<([](Bits a, Bits b) { return a > b; })>,
     .propagated = error_of_comparison},
    {.op = BinaryOp::equal,
     .common = comparison("==", "{a} == {b}"),
     .real = [](double a, double b) { return a == b ? 1.0 : 0.0; },
     .integer = [](Integer a, Integer b) { return static_cast<Integer>(a == b); },
     .propagated = error_of_comparison,
     .commutative = true},
    {.op = BinaryOp::not_equal,
     .common = comparison("!=", "{a} != {b}"),
     .real = [](double a, double b) { return a != b ? 1.0 : 0.0; },
     .integer = [](Integer a, Integer b) { return static_cast<Integer>(a != b); },
     .propagated = error_of_comparison,
     .commutative = true},
    {.op = BinaryOp::logical_and,
     .common = logic("and", binding::both, "({a} != 0) & ({b} != 0)"),
     .integer = [](Integer a, Integer b) { return static_cast<Integer>(a != 0 && b != 0); },
     .propagated = error_of_logic<0>,
     .commutative = true},
    {.op = BinaryOp::logical_or,
     .common = logic("or", binding::either, "({a} != 0) | ({b} != 0)"),
     .integer = [](Integer a, Integer b) { return static_cast<Integer>(a != 0 || b != 0); },
     .propagated = error_of_logic<1>,
     .commutative = true},
    {.op = BinaryOp::bit_and,
     .common = of_integers("bitand", "{T}({a} & {b})"),
     .integer = [](Integer a, Integer b) { return a & b; },
     .propagated = error_of_bits,
     .commutative = true},
    {.op = BinaryOp::bit_or,
     .common = of_integers("bitor", "{T}({a} | {b})"),
     .integer = [](Integer a, Integer b) { return a | b; },
     .propagated = error_of_bits,
     .commutative = true},
    {.op = BinaryOp::bit_xor,
     .common = of_integers("bitxor", "{T}({a} ^ {b})"),
     .integer = [](Integer a, Integer b) { return a ^ b; },
     .propagated = error_of_bits,
     .commutative = true},
    {.op = BinaryOp::shift_left,
     .common = of_integers("shl", "wrap_shl<{T}>({a}, {b})", "wrap_shl"),
     .integer =
         [](Integer a,
            Integer b) { return moves_all_out(b) ? 0 : static_cast<Integer>(static_cast<std::uint64_t>(a) << b); },
     .propagated = error_of_bits},
    {.op = BinaryOp::shift_right,
     .common = of_integers("shr", "wrap_shr<{T}>({a}, {b})", "wrap_shr"),
     .integer = [](Integer a, Integer b) { return a >> (moves_all_out(b) ? 63 : b); },
     .wide = of_bits<([](Bits a, Bits b) { return b < 64 ? a >> b : 0; })>,
     .propagated = error_of_bits},
});

template <class Rows>
constexpr bool in_order(const Rows& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(rows[i].op) != i) return false;
  return true;
}
static_assert(in_order(unary_rows) && in_order(binary_rows), "rows are in the order of the enumerators");
static_assert(unary_rows.size() == static_cast<std::size_t>(UnaryOp::bit_not) + 1);
static_assert(binary_rows.size() == static_cast<std::size_t>(BinaryOp::shift_right) + 1);

}  // namespace

std::span<const UnaryFunction> unary_functions() { return unary_rows; }
std::span<const BinaryFunction> binary_functions() { return binary_rows; }
const UnaryFunction& function_of(UnaryOp op) { return unary_rows[static_cast<std::size_t>(op)]; }
const BinaryFunction& function_of(BinaryOp op) { return binary_rows[static_cast<std::size_t>(op)]; }

bool approximates(const ScalarExpr& e) {
  const auto* u = std::get_if<Unary>(&e.op);
  const auto* b = std::get_if<Binary>(&e.op);
  const Accuracy accuracy = u != nullptr   ? function_of(u->op).common.accuracy
                            : b != nullptr ? function_of(b->op).common.accuracy
                                           : Accuracy::exact;
  return (is_float(e.type) && accuracy == Accuracy::approximate) ||
         std::any_of(e.args.begin(), e.args.end(), approximates);
}

bool takes_either_zero(const ScalarExpr& e) {
  const auto* b = std::get_if<Binary>(&e.op);
  return (is_float(e.type) && b != nullptr && (b->op == BinaryOp::min || b->op == BinaryOp::max)) ||
         std::any_of(e.args.begin(), e.args.end(), takes_either_zero);
}

double propagated(const UnaryFunction& function, const Estimate& a) {
  if (function.propagated != nullptr) return function.propagated(a);
  if (a.error == 0) return 0;
  const double value = function.real(a.value);
  double worst = 0;
  for (const double end : {std::max(a.value - a.error, function.lowest), std::min(a.value + a.error, function.highest)})
    if (const double there = function.real(end); there != value) {
      const double distance = std::fabs(there - value);
      worst = std::isnan(distance) ? INFINITY : std::max(worst, distance);
    }
  return worst;
}

double propagated(const BinaryFunction& function, const Estimate& a, const Estimate& b, double value) {
  return function.propagated(a, b, value);
}

}  // namespace isamap
