// SPDX-License-Identifier: Apache-2.0
#include "driver/compare_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isamap {

double coarsest_unit(const Kernel& kernel) {
  double unit = 0;
  for (const Tensor& tensor : kernel.tensors)
    if (is_float(tensor.dtype)) unit = std::max(unit, std::ldexp(1.0, 1 - format_of(tensor.dtype).precision));
  return unit;
}

OutputDifference compare_outputs(const std::string& name, const TensorData& expected, const TensorData& found,
                                 double unit) {
  OutputDifference result;
  if (expected.shape != found.shape || expected.dtype != found.dtype) {
    result.first = "output '" + name + "' has another shape or type";
    return result;
  }
  const bool reals = is_float(found.dtype);
  const auto value = [&](const TensorData& data, std::int64_t i) {
    const Scalar one = data.get(i);
    return reals ? one.real : static_cast<double>(one.integer);
  };
  double largest = 0;
  for (std::int64_t i = 0; reals && i < expected.count(); ++i)
    if (const double a = std::fabs(value(expected, i)); std::isfinite(a)) largest = std::max(largest, a);
  const double relative = std::max(1e-3, 8 * unit), absolute = std::max(1e-4, 4 * unit) * largest;
  for (std::int64_t i = 0; i < found.count(); ++i) {
    const double a = value(expected, i), b = value(found, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    result.max_error = std::max(result.max_error, std::fabs(a - b));
    if (reals && std::isfinite(a) && std::fabs(a - b) <= relative * std::fabs(a) + absolute) continue;
    if (result.first.empty()) result.first = fmt::format("element {} of output '{}' is {}, not {}", i, name, b, a);
  }
  return result;
}

}  // namespace isamap
