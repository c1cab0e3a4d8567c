// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running error analysis (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.3): each value
// has an error bound, propagated operation by operation and point by point.

#include <vector>

#include "isamap/interpret.h"

namespace isamap {

/// `unit`: largest relative error of one rounding; `smallest`: largest absolute one near zero.
struct Rounding {
  double unit = 0, smallest = 0;
};

/// The coarsest rounding among a body's operations and the type of its sum.
Rounding coarsest(const ScalarExpr& body, DType output);

/// Bounds for each element of the written tensor; `errors[t]`: of the reads (empty: 0).
std::vector<double> point_errors(const Computation& statement, const std::vector<Tensor>& tensors,
                                 const std::vector<TensorData>& data, const std::vector<std::vector<double>>& errors);

}  // namespace isamap
