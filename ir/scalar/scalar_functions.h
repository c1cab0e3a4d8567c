// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scalar functions and operators as rows of one table: all that the parser, the typing, the interpreter, the error
// bounds, the mapper and the backends know of each. A new one is an enumerator (include/isamap/expression.h) and a row
// (ir/scalar/scalar_functions.cpp). Where printed code shall be vectorizable, a helper `float_NAME` is added
// (backends/cpp/text/helpers.cpp), which is then used by its name.
//
// Integers are computed in 64 bits that wrap; u64 has functions of its own where its upper half is no negative number.
// max, min and sign of a NaN are NaN (IEEE 754-2019 maximum, minimum); `round` rounds to the nearest integer, ties to
// even; integer division truncates, and a division or remainder by zero gives 0. `mod` has the sign of the divisor,
// `fmod` that of the dividend. A shift by 64 or more, or by less than 0, moves all bits out.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "isamap/expression.h"

namespace isamap {

/// A number and a bound on its absolute error.
struct Estimate {
  double value = 0, error = 0;
};

enum class Accuracy {
  exact,        ///< the result is a value of the operands' format
  rounded,      ///< correctly rounded
  approximate,  ///< libraries differ in the last digits
};

/// How the text of a function of floats becomes a value of its format, in printed code.
enum class Printed {
  value,      ///< it is one
  operation,  ///< computed in the format's computation type; small floats round the result
  whole,      ///< the same, but f32 is rounded too: the library's function may be that of doubles
  wide,       ///< operands are widened to double, the result is rounded
};

/// Levels of binding of written operators, loosest first; calls and other primary expressions bind tightest.
namespace binding {
constexpr int either = 1, both = 2, negation = 3, comparison = 4, sum = 5, product = 6, primary = 7;
}

enum class Operands {
  of_context,  ///< and the result too
  of_any,      ///< one type, that of the leaves; the result is a truth value
  truth,       ///< truth values; so is the result
};

/// What functions of one and of two arguments have in common.
struct ScalarFunction {
  std::string_view name;         ///< `exp`, or the sign of an operator: `+`
  int level = binding::primary;  ///< of an operator between or before its operands; primary: a call
  Operands operands = Operands::of_context;
  Accuracy accuracy = Accuracy::approximate;
  Printed printed = Printed::wide;
  /// C++ of floats and of integers, with {a}, {b} and {T}, the type; without the one or the other it is not
  /// defined on such.
  std::string_view text = "", integer_text = "";
  std::string_view helper = "", integer_helper = "";  ///< that the texts call (backends/cpp/text/helpers.cpp)
  bool of_truth = false;                              ///< defined on truth values too
  std::string_view smt = "";                          ///< of integers in SMT-LIB; empty: no solver is asked about it
};

struct UnaryFunction {
  UnaryOp op = UnaryOp::negate;
  ScalarFunction common;
  double (*real)(double) = nullptr;                 ///< a truth value is 0 or 1; nullptr: not defined
  std::int64_t (*integer)(std::int64_t) = nullptr;  ///< nullptr: not defined
  std::int64_t (*wide)(std::int64_t) = nullptr;     ///< of the bits of u64; nullptr: as `integer`
  /// Bound on the difference of results for arguments within the estimate; nullptr: the function is monotone on its
  /// domain [lowest, highest], so the ends of the interval have it.
  double (*propagated)(const Estimate& a) = nullptr;
  double lowest = -std::numeric_limits<double>::infinity(), highest = std::numeric_limits<double>::infinity();
  bool keeps_magnitude = false;  ///< |f(a)| = |a|
};

struct BinaryFunction {
  BinaryOp op = BinaryOp::add;
  ScalarFunction common;
  double (*real)(double, double) = nullptr;
  std::int64_t (*integer)(std::int64_t, std::int64_t) = nullptr;
  std::int64_t (*wide)(std::int64_t, std::int64_t) = nullptr;  ///< of the bits of u64; nullptr: as `integer`
  double (*propagated)(const Estimate& a, const Estimate& b, double value) = nullptr;
  bool commutative = false;
  /// |f(a, b)| <= g(|a|, |b|), and so for its derivatives: the g; nothing: there is none in the table.
  std::optional<BinaryOp> of_magnitudes = std::nullopt;
};

std::span<const UnaryFunction> unary_functions();
std::span<const BinaryFunction> binary_functions();
const UnaryFunction& function_of(UnaryOp op);
const BinaryFunction& function_of(BinaryOp op);

/// The type of a function of operands of this type.
template <class Op>
DType result_type(Op op, DType operands) {
  return function_of(op).common.operands == Operands::of_context ? operands : DType::boolean;
}

/// Does it compute functions of floats whose last digits are the library's?
bool approximates(const ScalarExpr& e);
/// Does it take the minimum or maximum of floats? Of 0 and -0 that is either: some processors return the second
/// operand, others order them (IEEE 754-2008, 5.3.1, leaves it open).
bool takes_either_zero(const ScalarExpr& e);

/// Before the rounding to the node's type.
inline double apply_real(UnaryOp op, double a) { return function_of(op).real(a); }
inline double apply_real(BinaryOp op, double a, double b) { return function_of(op).real(a, b); }
/// The function of integers of this type.
template <class Function>
auto integer_function(const Function& f, DType operands) {
  return f.wide != nullptr && is_wide_unsigned(operands) ? f.wide : f.integer;
}
inline std::int64_t apply_integer(UnaryOp op, DType operands, std::int64_t a) {
  return integer_function(function_of(op), operands)(a);
}
inline std::int64_t apply_integer(BinaryOp op, DType operands, std::int64_t a, std::int64_t b) {
  return integer_function(function_of(op), operands)(a, b);
}

/// Bounds on the error of the exact function of erroneous arguments; infinity where it is steep or undefined there.
double propagated(const UnaryFunction& function, const Estimate& a);
double propagated(const BinaryFunction& function, const Estimate& a, const Estimate& b, double value);

inline double minimum(double a, double b) { return (a < b || a != a) ? a : b; }
inline double maximum(double a, double b) { return (a > b || a != a) ? a : b; }

namespace wrapping {
inline std::int64_t add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t sub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
inline std::int64_t div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? sub(0, a) : a / b;
}
}  // namespace wrapping

}  // namespace isamap
