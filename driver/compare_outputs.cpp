// SPDX-License-Identifier: Apache-2.0
#include "driver/compare_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isamap {

namespace {

/// The largest rounding unit of its floats.
double coarsest_unit(const Kernel& kernel) {
  double unit = 0;
  for (const Tensor& tensor : kernel.tensors)
    if (is_float(tensor.dtype)) unit = std::max(unit, std::ldexp(1.0, 1 - format_of(tensor.dtype).precision));
  return unit;
}

bool rounds_to_bytes(const ScalarExpr& e) {
  if (std::holds_alternative<Cast>(e.op) && (e.type == DType::s8 || e.type == DType::u8) && is_float(e.args[0].type))
    return true;
  return std::any_of(e.args.begin(), e.args.end(), rounds_to_bytes);
}

}  // namespace

OutputTolerance tolerance_of(const Kernel& kernel) {
  OutputTolerance result;
  const double unit = coarsest_unit(kernel);
  result.relative = std::max(result.relative, 8 * unit);
  result.of_largest = std::max(result.of_largest, 4 * unit);
  if (std::any_of(kernel.statements.begin(), kernel.statements.end(),
                  [](const Computation& statement) { return rounds_to_bytes(statement.body); }))
    result.of_largest = std::max(result.of_largest, 1.0 / 255);
  return result;
}

OutputTolerance tolerance_of_others(const Kernel& kernel, DType output) {
  OutputTolerance result = tolerance_of(kernel);
  if (output == DType::f32) result.least = 4 * 0x1p-23;
  return result;
}

OutputDifference compare_outputs(const std::string& name, const TensorData& expected, const TensorData& found,
                                 const OutputTolerance& tolerance) {
  OutputDifference result;
  if (expected.shape != found.shape || expected.dtype != found.dtype) {
    result.first = "output '" + name + "' has another shape or type";
    return result;
  }
  const bool reals = is_float(found.dtype);
  const auto value = [](const TensorData& data, std::int64_t i) { return as_double(data.dtype, data.get(i)); };
  double largest = 0;
  for (std::int64_t i = 0; reals && i < expected.count(); ++i)
    if (const double a = std::fabs(value(expected, i)); std::isfinite(a)) largest = std::max(largest, a);
  const double absolute = std::max(tolerance.of_largest * largest, tolerance.least);
  for (std::int64_t i = 0; i < found.count(); ++i) {
    const double a = value(expected, i), b = value(found, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    result.max_error = std::max(result.max_error, std::fabs(a - b));
    if (reals && std::isfinite(a) && std::fabs(a - b) <= tolerance.relative * std::fabs(a) + absolute) continue;
    if (result.first.empty()) result.first = fmt::format("element {} of output '{}' is {}, not {}", i, name, b, a);
  }
  return result;
}

}  // namespace isamap
