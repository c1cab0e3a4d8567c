// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search decides before any tile: how dims are distributed to units, and which level keeps which operand.

#include <vector>

#include "scheduler/search/exact/traffic_bound.h"

namespace isamap::hierarchy {

/// Of each level a dim lies wholly on one axis. Each product of steps once: which axis it is makes no difference.
/// `dividing`: steps divide the dims.
std::vector<SpatialUnrolling> spatial_unrollings(const Problem& problem, bool dividing);

/// By level a bit for each operand; `keep_all`: one choice.
using Keep = std::array<std::uint32_t, max_levels>;
std::vector<Keep> all_keeps(const Problem& problem, bool keep_all);

}  // namespace isamap::hierarchy
