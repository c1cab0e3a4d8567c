// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a mapping's digits stand on instruction dims that share their operands.
//
// The mapper lists one spread of each mapping (docs/mapping.md: "layout, not identity"): the last digit cut into a
// chain over the dims. Lowering runs over whole dims of the statement, so here the same digits are distributed whole: k
// on k and the window r.s on a loop f inside the instruction, or i on i and j on j of a two-dimensional move.

#include <vector>

#include "isamap/instruction.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"

namespace isamap {

/// Mappings with the same digits, whole, on dims of the same slots; the given one is among them if its digits are
/// whole.
std::vector<Mapping> whole_spreads(const Mapping& mapping, const Computation& statement,
                                   const Instruction& instruction);

}  // namespace isamap
