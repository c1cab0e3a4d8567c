// SPDX-License-Identifier: Apache-2.0
#pragma once
// Completes decided tiles to a point.

#include "scheduler/search/exact/spatial_unrollings.h"

namespace isamap::hierarchy {

/// `tile`: by level, at its stage. Loops are ordered by dim.
LevelPoint complete_point(const Problem& problem, const Keep& keep, const SpatialUnrolling& unrolling,
                          const LevelPoint::Tiles* tile);

/// Dims with more than one time step, by level, and those of them with a single step for some tile or instance.
struct Loops {
  std::array<std::uint32_t, max_levels> at{}, short_tails{};
};
Loops loops_of(const Problem& problem, const LevelPoint& point);

}  // namespace isamap::hierarchy
