// SPDX-License-Identifier: Apache-2.0
#include "driver/compare_outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

bool is_rounded(const Kernel& kernel, TensorId tensor, std::set<TensorId>& seen);

/// Is a float rounded to an integer here, or where a value of it was written? What only says where is read is no value.
bool is_rounded(const Kernel& kernel, const Computation& statement, const ScalarExpr& e, std::set<TensorId>& seen) {
  if (std::holds_alternative<Cast>(e.op) && is_integer(e.type) && is_float(e.args[0].type)) return true;
  if (const Read* read = std::get_if<Read>(&e.op))
    return is_rounded(kernel, statement.reads[static_cast<std::size_t>(read->access)].tensor, seen);
  return std::any_of(e.args.begin(), e.args.end(),
                     [&](const ScalarExpr& operand) { return is_rounded(kernel, statement, operand, seen); });
}

/// Are these integers rounded floats, perhaps moved or changed one by one?
bool is_rounded(const Kernel& kernel, TensorId tensor, std::set<TensorId>& seen) {
  if (!is_integer(kernel.tensors[tensor.index()].dtype) || !seen.insert(tensor).second) return false;
  return std::any_of(kernel.statements.begin(), kernel.statements.end(), [&](const Computation& statement) {
    return statement.write.tensor == tensor && statement.reduction == Reduction::assign &&
           is_rounded(kernel, statement, statement.body, seen);
  });
}

OutputTolerance tolerance_of_floats(const Kernel& kernel) {
  OutputTolerance result;
  const double unit = coarsest_unit(kernel);
  result.relative = std::max(result.relative, 8 * unit);
  result.of_largest = std::max(result.of_largest, 4 * unit);
  return result;
}

/// The largest |a| that is finite.
double largest_of(const TensorData& data) {
  double largest = 0;
  for (std::int64_t i = 0; i < data.count(); ++i)
    if (const double a = std::fabs(as_double(data.dtype, data.get(i))); std::isfinite(a))
      largest = std::max(largest, a);
  return largest;
}

std::string other_element(const std::string& name, std::int64_t i, const std::string& found,
                          const std::string& expected) {
  return fmt::format("element {} of output '{}' is {}, not {}", i, name, found, expected);
}

OutputDifference compare_reals(const std::string& name, const TensorData& expected, const TensorData& found,
                               const OutputTolerance& tolerance) {
  OutputDifference result;
  const double absolute = std::max(tolerance.of_largest * largest_of(expected), tolerance.least);
  for (std::int64_t i = 0; i < found.count(); ++i) {
    const double a = expected.get(i).real, b = found.get(i).real, difference = std::fabs(a - b);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    result.max_error = std::max(result.max_error, difference);
    if (std::isfinite(a) && difference <= tolerance.relative * std::fabs(a) + absolute) continue;
    if (result.first.empty()) result.first = other_element(name, i, fmt::format("{}", b), fmt::format("{}", a));
  }
  return result;
}

/// Of all their 64 bits: as doubles, large integers that differ are equal.
std::uint64_t distance_of(DType type, Scalar a, Scalar b) {
  const auto x = static_cast<std::uint64_t>(a.integer), y = static_cast<std::uint64_t>(b.integer);
  const bool less = is_wide_unsigned(type) ? x < y : a.integer < b.integer;
  return less ? y - x : x - y;
}

/// A real with a larger error is no nearly equal one: then a quarter of all elements would be ties.
constexpr double largest_error_at_ties = 1.0 / 8;

OutputDifference compare_integers(const std::string& name, const TensorData& expected, const TensorData& found,
                                  const OutputTolerance& tolerance) {
  OutputDifference result;
  const DType type = expected.dtype;
  const double absolute = tolerance.rounded ? tolerance.of_largest * largest_of(expected) : 0;
  double ties = 0, expected_ties = 0;
  for (std::int64_t i = 0; i < found.count(); ++i) {
    const Scalar a = expected.get(i), b = found.get(i);
    expected_ties += 2 * std::min(largest_error_at_ties, tolerance.relative * std::fabs(as_double(type, a)) + absolute);
    const std::uint64_t distance = distance_of(type, a, b);
    if (distance == 0) continue;
    result.max_error = std::max(result.max_error, static_cast<double>(distance));
    if (tolerance.rounded && distance == 1)
      ++ties;
    else if (result.first.empty())
      result.first = other_element(name, i, integer_text(type, b), integer_text(type, a));
  }
  if (result.first.empty() && ties > std::floor(expected_ties) + 1)
    result.first =
        fmt::format("{} elements of output '{}' are rounded otherwise; of nearly equal reals about {:.0f} are", ties,
                    name, expected_ties);
  return result;
}

}  // namespace

OutputTolerance tolerance_of(const Kernel& kernel) {
  OutputTolerance result = tolerance_of_floats(kernel);
  if (std::any_of(kernel.statements.begin(), kernel.statements.end(),
                  [](const Computation& statement) { return rounds_to_bytes(statement.body); }))
    result.of_largest = std::max(result.of_largest, 1.0 / 255);
  return result;
}

OutputTolerance tolerance_of_others(const Kernel& kernel, TensorId output) {
  const DType type = kernel.tensors[output.index()].dtype;
  OutputTolerance result = is_float(type) ? tolerance_of(kernel) : tolerance_of_floats(kernel);
  if (type == DType::f32) result.least = 4 * 0x1p-23;
  std::set<TensorId> seen;
  result.rounded = is_rounded(kernel, output, seen);
  return result;
}

OutputDifference compare_outputs(const std::string& name, const TensorData& expected, const TensorData& found,
                                 const OutputTolerance& tolerance) {
  if (expected.shape != found.shape || expected.dtype != found.dtype)
    return {0,
            fmt::format("output '{}' is {}[{}], and {}[{}] is expected", name, isamap::name(found.dtype),
                        fmt::join(found.shape, ", "), isamap::name(expected.dtype), fmt::join(expected.shape, ", "))};
  return is_float(found.dtype) ? compare_reals(name, expected, found, tolerance)
                               : compare_integers(name, expected, found, tolerance);
}

}  // namespace isamap
