// SPDX-License-Identifier: Apache-2.0
#pragma once
// (S) between reads: an instruction that reads one operand in several ways, C[o] = A[o] + A[o+1], has one place for
// what two of its reads take from the same slot.

#include <utility>
#include <vector>

#include "mapper/conditions.h"

namespace isamap {

/// Pairs of accesses of the instruction to one operand, those left out that are alike on both sides.
std::vector<std::pair<int, int>> shared_operands(const Alignment& alignment);

/// Does a slot that two accesses of a pair reach in one call hold one element? `yes`: there are no such pairs. `no`: a
/// slot of a call that is tried (tried_calls.h) would hold two.
Truth shared_operands_agree(const Alignment& alignment, const std::vector<DigitStep>& digit_steps);

}  // namespace isamap
