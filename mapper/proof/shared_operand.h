// SPDX-License-Identifier: Apache-2.0
#pragma once
// (S) between reads: where an instruction reads one operand through several accesses, C[o] = A[o] + A[o+1], two reads
// of the same slot get the same element.

#include <utility>
#include <vector>

#include "mapper/proof/conditions.h"

namespace isamap {

/// Pairs of accesses of the instruction to one operand, except those that are equal on both sides.
std::vector<std::pair<int, int>> shared_operands(const Alignment& alignment);

/// Does every slot that two accesses of a pair reach in one call have one element? `yes`: there are no such pairs.
/// `no`: a slot of a tried call (counterexample_search.h) would get two.
Truth shared_operands_agree(const Alignment& alignment, const std::vector<DigitStep>& digit_steps);

}  // namespace isamap
