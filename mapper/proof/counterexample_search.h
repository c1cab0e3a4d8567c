// SPDX-License-Identifier: Apache-2.0
#pragma once
// Enumerates the points of some calls of a mapping, to refuse wrong ones without the solver; small ones are proved.

#include <vector>

#include "mapper/proof/conditions.h"

namespace isamap {

/// Does a slot of one of these operands get two elements in a call at the first, second or last tiles, all loops at 0?
/// `false` proves nothing: other calls may be wrong, and calls of more than 4096 points are not tried.
bool slot_holds_two(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, OperandSet operands);

/// Do two calls write one element of the output? `yes`: no two, all points of the statement were enumerated. At most
/// 16384 places in digits and loops are tried.
Truth calls_write_apart(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover);

}  // namespace isamap
