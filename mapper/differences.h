// SPDX-License-Identifier: Apache-2.0
#pragma once
// (S) and (O) by trying every difference of two points of one call: for instructions that add up dims in an index,
// where columns of different dims are coupled and neither use sets nor ranks decide.

#include <vector>

#include "mapper/conditions.h"

namespace isamap {

/// Rows have one entry for each digit_step: what a step of it adds. Does every difference of digits of two points of
/// one call that adds 0 in all rows `given` add 0 in all rows `wanted`? `yes`: none does otherwise. `no`: two points of
/// the domain in the first call do. `unknown`: differences do, but these two points are not found; or there are too
/// many.
Truth decided_by_differences(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                             const std::vector<IntVector>& given, const std::vector<IntVector>& wanted);

}  // namespace isamap
