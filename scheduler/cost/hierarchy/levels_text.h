// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point in the per-memory view of docs/schedule.md: steps instead of tiles.

#include "scheduler/cost/hierarchy/point.h"

namespace isamap::hierarchy {

/// `schedule` provides the names of the header. Tiles of the point are multiples of the ones inside them.
std::string levels_text(const Problem& problem, const LevelPoint& point, const Schedule& schedule);

}  // namespace isamap::hierarchy
