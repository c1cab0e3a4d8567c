// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running error analysis (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.3): each value
// is carried with a bound on its error, operation by operation and point by point.

#include <vector>

#include "isamap/interpret.h"

namespace isamap {

/// `unit`: largest relative error of one rounding; `smallest`: largest absolute one near zero.
struct Rounding {
  double unit = 0, smallest = 0;
};

/// The coarsest rounding among the results of a body's operations and the type they are added up in.
Rounding coarsest(const ScalarExpr& body, DType output);

/// Bounds for each element of the written tensor; `errors[t]` those of what is read (empty: 0).
std::vector<double> point_errors(const Computation& statement, const std::vector<Tensor>& tensors,
                                 const std::vector<TensorData>& data, const std::vector<std::vector<double>>& errors);

}  // namespace isamap
