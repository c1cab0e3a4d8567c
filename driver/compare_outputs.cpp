// SPDX-License-Identifier: Apache-2.0
#include "driver/compare_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

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

bool rounds_to_integers(const ScalarExpr& e) {
  if (std::holds_alternative<Cast>(e.op) && !is_float(e.type) && is_float(e.args[0].type)) return true;
  return std::any_of(e.args.begin(), e.args.end(), rounds_to_integers);
}

/// Are these integers rounded floats, perhaps moved or changed one by one?
bool is_rounded(const Kernel& kernel, TensorId tensor, std::set<TensorId>& seen) {
  if (is_float(kernel.tensors[tensor.index()].dtype) || !seen.insert(tensor).second) return false;
  return std::any_of(kernel.statements.begin(), kernel.statements.end(), [&](const Computation& statement) {
    if (statement.write.tensor != tensor || statement.reduction != Reduction::assign) return false;
    return rounds_to_integers(statement.body) ||
           std::any_of(statement.reads.begin(), statement.reads.end(),
                       [&](const Access& read) { return is_rounded(kernel, read.tensor, seen); });
  });
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

OutputTolerance tolerance_of_others(const Kernel& kernel, TensorId output) {
  OutputTolerance result = tolerance_of(kernel);
  if (kernel.tensors[output.index()].dtype == DType::f32) result.least = 4 * 0x1p-23;
  std::set<TensorId> seen;
  result.rounded = is_rounded(kernel, output, seen);
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
  const bool near = reals || tolerance.rounded;  // else equal
  double largest = 0;
  for (std::int64_t i = 0; near && i < expected.count(); ++i)
    if (const double a = std::fabs(value(expected, i)); std::isfinite(a)) largest = std::max(largest, a);
  const double absolute = std::max(tolerance.of_largest * largest, tolerance.least);
  double ties = 0, expected_ties = 0;
  for (std::int64_t i = 0; i < found.count(); ++i) {
    const double a = value(expected, i), b = value(found, i), difference = std::fabs(a - b);
    const double error = tolerance.relative * std::fabs(a) + absolute;
    if (!reals && near) expected_ties += std::min(1.0, 2 * error);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    result.max_error = std::max(result.max_error, difference);
    if (near && std::isfinite(a) && difference <= error) continue;
    if (!reals && near && difference <= error + 1) {
      ++ties;
      continue;
    }
    if (result.first.empty()) result.first = fmt::format("element {} of output '{}' is {}, not {}", i, name, b, a);
  }
  if (result.first.empty() && ties > std::floor(expected_ties) + 1)
    result.first =
        fmt::format("{} elements of output '{}' are rounded otherwise; of nearly equal reals about {:.0f} are", ties,
                    name, expected_ties);
  return result;
}

}  // namespace isamap
