// SPDX-License-Identifier: Apache-2.0
#pragma once
// Assignments of digits to instruction dims that share their operands.
//
// The mapper lists one assignment per mapping (docs/mapping.md: "layout, not identity"): the last digit split into a
// chain over the dims. Lowering loops over whole dims of the statement, so here digits are assigned whole: k to k and
// the window r.s to a loop f inside the instruction, or i to i and j to j of a two-dimensional move.

#include <vector>

#include "isamap/instruction.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"

namespace isamap {

/// Mappings with the same digits, whole, on dims of the same slots; includes the given one if its digits are whole.
std::vector<Mapping> digit_assignments(const Mapping& mapping, const Computation& statement,
                                       const Instruction& instruction);

}  // namespace isamap
