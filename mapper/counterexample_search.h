// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some calls of a mapping, point by point: what is wrong there is refused without the solver.

#include <vector>

#include "mapper/conditions.h"

namespace isamap {

/// Is there a slot of one of these operands that would hold two elements in a call at the first, second or last tiles,
/// all loops at 0? `false` says nothing: other calls may be wrong, and calls of more than 4096 points are not tried.
bool slot_holds_two(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, OperandSet operands);

}  // namespace isamap
