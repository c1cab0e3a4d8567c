// SPDX-License-Identifier: Apache-2.0
#pragma once
// The executable definition of a kernel. Everything else is compared with this.

#include <cstdint>
#include <vector>

#include "ir/kernel.h"
#include "support/random.h"

namespace isamap {

/// The bytes of one tensor, row-major, little endian, in the tensor's dtype.
struct TensorData {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
  bool operator==(const TensorData&) const = default;

  std::int64_t count() const;
  Scalar get(std::int64_t position) const;
  void set(std::int64_t position, Scalar value);
};

TensorData make_data(const Tensor& tensor);  ///< zeros

/// Small integers that keep every sum of `reduction_length` products exact in every dtype, or (real) uniform
/// values in [-1, 1] rounded to the dtype. Honours Tensor::range.
enum class Fill { integers, real };
TensorData random_data(const Tensor& tensor, Fill fill, Random& random);
/// One for each tensor of the kernel: random where the caller provides values (inputs and `inout`), else zeros.
std::vector<TensorData> random_data(const Kernel& kernel, Fill fill, std::uint64_t seed);

/// How many points `interpret` visits, as a double: they may be more than 2^63.
double point_count(const Computation& statement);
double point_count(const Kernel& kernel);

/// One TensorData for each tensor of the kernel, in order. Inputs are read, outputs and intermediates written:
/// an output starts at the reduction's identity unless `inout`. Reductions run in the order of the domain's dims.
/// Shapes must match (checked). Runs at a few ns per operation: rows of the longest parallel dim at a time.
void interpret(const Kernel& kernel, std::vector<TensorData>& data);

/// How far two results differ. Integers must be equal, unless they were rounded from inexact intermediates. A float may
/// differ by a bound of its own: for sums of products 2 * (terms + roundings of the body) * unit roundoff of the
/// coarsest rounding * sum of |terms| (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.1;
/// twice, since both results round); for other bodies what running error analysis gives. NaN equals NaN.
struct Comparison {
  bool equal = true;
  double max_error = 0;          ///< largest |a - b|
  double worst_ratio = 0;        ///< largest |a - b| / bound; <= 1 is equal
  std::string first_difference;  ///< "O[3,1]: 12 instead of 13"
};
/// `expected` is what `interpret` left, inputs and intermediates included; only outputs of `found` are looked at. What
/// an `inout` output started at is unknown here and bounded by where it ended and what was added.
Comparison compare(const Kernel& kernel, const std::vector<TensorData>& expected, const std::vector<TensorData>& found);

}  // namespace isamap
