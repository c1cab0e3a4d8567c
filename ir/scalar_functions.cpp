// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar_functions.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace isamap {
namespace {

using Integer = std::int64_t;

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
          .integer_helper = helper};
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
     .propagated = own_error,
     .keeps_magnitude = true},
    {.op = UnaryOp::round,
     .common = whole("round", "std::nearbyint({a})"),
     .real = [](double a) { return std::nearbyint(a); },
     .integer = [](Integer a) { return a; }},
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
     .propagated = error_of_quotient},
    {.op = BinaryOp::min,
     .common = of_two("min", "smaller({a}, {b})", "smaller"),
     .real = minimum,
     .integer = [](Integer a, Integer b) { return std::min(a, b); },
     .propagated = larger_error,
     .commutative = true,
     .of_magnitudes = BinaryOp::max},
    {.op = BinaryOp::max,
     .common = of_two("max", "larger({a}, {b})", "larger"),
     .real = maximum,
     .integer = [](Integer a, Integer b) { return std::max(a, b); },
     .propagated = larger_error,
     .commutative = true,
     .of_magnitudes = BinaryOp::max},
});

template <class Rows>
constexpr bool in_order(const Rows& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(rows[i].op) != i) return false;
  return true;
}
static_assert(in_order(unary_rows) && in_order(binary_rows), "rows are in the order of the enumerators");
static_assert(unary_rows.size() == static_cast<std::size_t>(UnaryOp::round) + 1);
static_assert(binary_rows.size() == static_cast<std::size_t>(BinaryOp::max) + 1);

}  // namespace

std::span<const UnaryFunction> unary_functions() { return unary_rows; }
std::span<const BinaryFunction> binary_functions() { return binary_rows; }
const UnaryFunction& function_of(UnaryOp op) { return unary_rows[static_cast<std::size_t>(op)]; }
const BinaryFunction& function_of(BinaryOp op) { return binary_rows[static_cast<std::size_t>(op)]; }

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
