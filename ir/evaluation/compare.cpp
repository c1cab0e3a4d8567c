// SPDX-License-Identifier: Apache-2.0
// Error bound of each element against the interpreter's result, valid for every order of summation and for roundings no
// coarser than the statement's.
//
// A body of + - * min max abs and casts is at most P(|x|), the same body on absolute values; each rounding adds at most
// one unit roundoff u of it. With g roundings on the longest way and n terms, either result differs from the exact one
// by at most (g + n) u P(|x|) (Higham, section 3.1), hence the two by twice that. Inputs with errors e (intermediates)
// add P(|x| + e) - P(|x|). P is run by the interpreter, in f64. Division, select and functions are not monotone in |x|:
// their statements are bounded point by point (ir/evaluation/point_errors.cpp).

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ir/evaluation/error_bounds.h"
#include "isamap/interpret.h"
#include "isamap/result.h"

namespace isamap {
namespace {

std::string element_name(const Tensor& tensor, std::int64_t position) {
  std::vector<std::int64_t> index(tensor.shape.size());
  for (std::size_t d = index.size(); d-- > 0;) {
    index[d] = position % tensor.shape[d];
    position /= tensor.shape[d];
  }
  std::string text;
  for (const std::int64_t i : index) text += (text.empty() ? "" : ",") + std::to_string(i);
  return tensor.name + "[" + text + "]";
}

struct Difference {
  double error = 0, ratio = 0;
};

Difference difference_of(double a, double b, double bound) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return {};
  const double error = std::fabs(a - b);
  if (std::isnan(error) || std::isinf(error)) return {INFINITY, INFINITY};
  return {error, bound > 0 ? error / bound : INFINITY};
}

void compare_tensor(const Tensor& tensor, const TensorData& expected, const TensorData& found,
                    const std::vector<double>& bounds, Comparison& result) {
  const std::int64_t count = expected.count();
  for (std::int64_t i = 0; i < count; ++i) {
    const Scalar a = expected.get(i);
    const Scalar b = found.get(i);
    Difference d;
    if (is_float(tensor.dtype)) {
      d = difference_of(a.real, b.real, bounds.empty() ? 0 : bounds[static_cast<std::size_t>(i)]);
    } else if (a.integer != b.integer) {
      const double bound = bounds.empty() ? 0 : bounds[static_cast<std::size_t>(i)];
      d = difference_of(as_double(tensor.dtype, a), as_double(tensor.dtype, b), std::floor(bound));
      if (d.error == 0) d = {1, INFINITY};  // differ beyond 53 bits
    }
    result.max_error = std::max(result.max_error, d.error);
    result.worst_ratio = std::max(result.worst_ratio, d.ratio);
    if (d.ratio <= 1 || !result.equal) continue;
    result.equal = false;
    const std::string name = element_name(tensor, i);
    result.first_difference =
        is_float(tensor.dtype)
            ? fmt::format("{}: {} instead of {}", name, b.real, a.real)
            : fmt::format("{}: {} instead of {}", name, integer_text(tensor.dtype, b), integer_text(tensor.dtype, a));
  }
}

}  // namespace

std::string_view name(ExecutionMode mode) {
  constexpr std::string_view names[] = {"unavailable", "native", "emulated", "simulator", "shim", "written"};
  return names[static_cast<std::size_t>(mode)];
}

Comparison compare(const Kernel& kernel, const std::vector<TensorData>& expected,
                   const std::vector<TensorData>& found) {
  return compare(kernel, expected, found, error_bounds(kernel, expected));
}

Comparison compare(const Kernel& kernel, const std::vector<TensorData>& expected, const std::vector<TensorData>& found,
                   const std::vector<std::vector<double>>& bounds) {
  ISAMAP_CHECK(expected.size() == kernel.tensors.size() && found.size() == kernel.tensors.size(),
               "one array for each tensor of kernel " + kernel.name);
  Comparison result;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    if (role_of(kernel, make_id<TensorId>(t)) != Role::output) continue;
    ISAMAP_CHECK(found[t].dtype == expected[t].dtype && found[t].shape == expected[t].shape,
                 "array of tensor " + kernel.tensors[t].name + " has its type and shape");
    compare_tensor(kernel.tensors[t], expected[t], found[t], bounds[t], result);
  }
  return result;
}

}  // namespace isamap
