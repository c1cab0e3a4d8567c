// SPDX-License-Identifier: Apache-2.0
#pragma once
// Root decisions of the exact search: spatial unrolling (dims on units), and kept operands by level.

#include <vector>

#include "scheduler/search/exact/traffic_bound.h"

namespace isamap::hierarchy {

/// A dim is on one axis of a level. Each product of steps once: the axis does not matter. `dividing`: steps divide the
/// dims.
std::vector<SpatialUnrolling> spatial_unrollings(const Problem& problem, bool dividing);

/// By level a bit for each operand; `keep_all`: a single choice.
using Keep = std::array<std::uint32_t, max_levels>;
std::vector<Keep> all_keeps(const Problem& problem, bool keep_all);

}  // namespace isamap::hierarchy
