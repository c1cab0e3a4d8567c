// SPDX-License-Identifier: Apache-2.0
#pragma once
// Enumerates the points of some calls of a mapping, to refuse wrong ones without the solver.

#include <vector>

#include "mapper/proof/conditions.h"

namespace isamap {

/// Does a slot of one of these operands get two elements in a call at the first, second or last tiles, all loops at 0?
/// `false` proves nothing: other calls may be wrong, and calls of more than 4096 points are not tried.
bool slot_holds_two(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, OperandSet operands);

}  // namespace isamap
