// SPDX-License-Identifier: Apache-2.0
#pragma once
// (S) and (O) by enumeration of all differences of two points of one call: for instructions with sums of dims in an
// index, where columns of different dims are coupled and neither use sets nor ranks decide.

#include <vector>

#include "mapper/proof/conditions.h"

namespace isamap {

/// Rows have one entry for each digit: the change by one step of it. Does every digit difference of two points of one
/// call that gives 0 in all rows `given` give 0 in all rows `implied`? `no`: two points of the domain in the first call
/// are a counterexample. `unknown`: a difference is one, but no such points were found; or there are too many.
Truth decided_by_differences(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                             const std::vector<IntVector>& given, const std::vector<IntVector>& implied);

}  // namespace isamap
