// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators on single values, before the rounding to the node's type: shared by the evaluation at a point
// (ir/scalar_expr.cpp) and in rows (ir/row_expr.cpp), so that the two cannot differ.
//
// Integers are computed in 64 bits that wrap. max and min of a NaN are NaN (IEEE 754-2019 maximum, minimum); `round`
// rounds to the nearest integer, ties to even; integer division truncates, and a division by zero gives 0.

#include <cmath>
#include <cstdint>

#include "isamap/expression.h"

namespace isamap {

inline double apply_real(UnaryOp op, double a) {
  switch (op) {
    case UnaryOp::negate:
      return -a;
    case UnaryOp::exp:
      return std::exp(a);
    case UnaryOp::log:
      return std::log(a);
    case UnaryOp::sqrt:
      return std::sqrt(a);
    case UnaryOp::rsqrt:
      return 1.0 / std::sqrt(a);
    case UnaryOp::tanh:
      return std::tanh(a);
    case UnaryOp::erf:
      return std::erf(a);
    case UnaryOp::sigmoid:
      return 1.0 / (1.0 + std::exp(-a));
    case UnaryOp::abs:
      return std::fabs(a);
    case UnaryOp::round:
      return std::nearbyint(a);
  }
  return 0;
}

inline double apply_real(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::min:
      return (a < b || std::isnan(a)) ? a : b;
    case BinaryOp::max:
      return (a > b || std::isnan(a)) ? a : b;
  }
  return 0;
}

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

/// Only negate, abs and round have a meaning for integers; `elaborate` refuses the others.
inline std::int64_t apply_integer(UnaryOp op, std::int64_t a) {
  if (op == UnaryOp::negate || (op == UnaryOp::abs && a < 0)) return wrapping::sub(0, a);
  return a;
}

inline std::int64_t apply_integer(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case BinaryOp::add:
      return wrapping::add(a, b);
    case BinaryOp::sub:
      return wrapping::sub(a, b);
    case BinaryOp::mul:
      return wrapping::mul(a, b);
    case BinaryOp::div:
      return wrapping::div(a, b);
    case BinaryOp::min:
      return a < b ? a : b;
    case BinaryOp::max:
      return a > b ? a : b;
  }
  return 0;
}

}  // namespace isamap
