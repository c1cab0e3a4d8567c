// SPDX-License-Identifier: Apache-2.0
#pragma once
// Horizontal sums: instructions that add the lanes of a register.

#include <cstdint>

#include "isamap/instruction.h"

namespace isamap {

/// Number of lanes of an instruction D[] += S[l]; 0: it is another instruction.
std::int64_t lanes_added_up(const Instruction& instruction, Reduction reduction, DType type);

/// Adds floating-point lanes in an unspecified order, which --strict-float forbids.
bool sums_lanes_in_any_order(const Instruction& instruction);
/// May its result differ from the statement's in the last digits? Sums in any order, approximated functions.
bool differs_in_last_digits(const Instruction& instruction);

}  // namespace isamap
