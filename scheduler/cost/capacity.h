// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles against capacities: stages that need more registers or bytes than their memory has.

#include "scheduler/cost/traffic.h"

namespace isamap {

/// One diagnostic a memory, at the line of its largest stage.
Diagnostics capacity_problems(const ResolvedNest& view, const TileCounts& counts);

/// Of a command stream: has the memory of a stage room for all tiles of its stages, whole and short ones, beside each
/// other? Lowering makes a copy of the code for each short step of a loop, with buffers of its own, and keeps them
/// apart where there is room (scheduler/lowering/buffer_allocation.h).
bool short_tiles_are_apart(const ResolvedNest& view, const TileCounts& counts, int stage);

}  // namespace isamap
