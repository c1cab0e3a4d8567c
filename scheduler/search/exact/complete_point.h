// SPDX-License-Identifier: Apache-2.0
#pragma once
// From decided tiles to a point.

#include "scheduler/search/exact/spatial_unrollings.h"

namespace isamap::hierarchy {

/// `tile`: by level, at its stage. Orders are those of the dims.
LevelPoint assemble(const Problem& problem, const Keep& keep, const SpatialUnrolling& spread,
                    const LevelPoint::Tiles* tile);

/// Dims with more than one step in time, by level; those of them that have a single step for some tile or instance.
struct Loops {
  std::array<std::uint32_t, max_levels> at{}, short_tails{};
};
Loops loops_of(const Problem& problem, const LevelPoint& point);

}  // namespace isamap::hierarchy
