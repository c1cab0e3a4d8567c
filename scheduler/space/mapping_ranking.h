// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranking of mappings for the starts of a search.

#include <vector>

#include "isamap/hardware.h"
#include "isamap/mapping.h"

namespace isamap {

/// Positions of all mappings of the statement: those with the least work and those with the fewest fused digits (beyond
/// one for each dim of the instruction), alternating. Fused digits fill the instruction better, but their operands may
/// need packing, which only a schedule tells.
std::vector<std::size_t> ranked_mappings(const Computation& statement, const std::vector<Mapping>& mappings,
                                         const HardwareModel& model);

/// Dims of the instruction that the statement fills. Instructions of fewer dims do less work at once, and want operands
/// in other places: a product of lanes takes neighbours as they lie where groups of products need packing.
std::size_t filled_dims(const Mapping& mapping);

}  // namespace isamap
