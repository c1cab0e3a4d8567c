// SPDX-License-Identifier: Apache-2.0
#pragma once
// A division by what few elements of a row share becomes a multiplication by its reciprocal, computed once for them.
//
//   Y[i,j] = E[i,j] / L[i]        gives        R[i] = 1 / L[i]
//                                              Y[i,j] = E[i,j] * R[i]
//
// A divider takes ten times as long as a multiplier, and every softmax and norm ends with such a division. The product
// is rounded twice, and a divisor below the least normal number gives infinity, so this is not done with
// `--strict-float`.

#include <functional>

#include "frontends/model.h"

namespace isamap {

/// Cycles of the instructions that compute a body, for as many points as one of them has; nothing: no instructions
/// compute all of it.
using CyclesOfCall = std::function<std::optional<double>(const Computation&, const std::vector<Tensor>&)>;

/// Points of one divisor: fewer do not pay for storing its reciprocal.
constexpr double least_points_of_divisor = 8;

/// Divisors that at least so many points share, and those that are numbers, where the machine multiplies faster than it
/// divides. Statements of recurrences stay as they are.
Model hoisted_divisors(Model model, const CyclesOfCall& cycles_of, double least_points = least_points_of_divisor);

}  // namespace isamap
