// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds on rounding errors, for `compare` (method: ir/evaluation/compare.cpp).

#include <vector>

#include "isamap/interpret.h"

namespace isamap {

/// For each tensor a bound for each element on |a - b| of two results that differ in order and rounding only; empty: 0.
/// `data`: inputs, intermediates and outputs after `interpret`.
std::vector<std::vector<double>> error_bounds(const Kernel& kernel, const std::vector<TensorData>& data);

/// `compare` with known bounds, which take as long as the interpreter: for several results of the same inputs.
Comparison compare(const Kernel& kernel, const std::vector<TensorData>& expected, const std::vector<TensorData>& found,
                   const std::vector<std::vector<double>>& bounds);

}  // namespace isamap
