// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which mappings a search should try first.

#include <vector>

#include "isamap/hardware.h"
#include "isamap/mapping.h"

namespace isamap {

/// Positions of all mappings of the statement: those with the least work and those with the fewest digits in turn.
/// Fused digits fill the instruction better, but what they run over may have to be packed element by element, which
/// only a schedule tells.
std::vector<std::size_t> ranked_mappings(const Computation& statement, const std::vector<Mapping>& mappings,
                                         const HardwareModel& model);

}  // namespace isamap
