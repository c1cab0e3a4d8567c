// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions that add the lanes of a register up.

#include <cstdint>

#include "isamap/instruction.h"

namespace isamap {

/// D[] += S[l]: its lanes; 0: it is another instruction.
std::int64_t lanes_added_up(const Instruction& instruction, Reduction reduction, DType type);

/// Adds real lanes up in an order of its own. --strict-float does without.
bool sums_lanes_in_any_order(const Instruction& instruction);

}  // namespace isamap
