// SPDX-License-Identifier: Apache-2.0
#pragma once
// What packed copies take: a scalar unit makes them element by element, or a move within their memory lays them out.

#include "scheduler/cost/time_bounds.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// Cycles of one element of a packed copy: of the move that lays it out (scheduler/lowering/packing_moves.h), or of a
/// scalar unit for the elements of its layout that there are for each of the tensor (an im2col copy repeats them).
double copy_cycles(const ResolvedNest& view, const StagedTile& stage);

/// "packed copy of B", each at least what passes the caches for it; nothing hides them.
std::vector<Bound> copy_bounds(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);
/// Of all of them.
double copying_cycles(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);

}  // namespace isamap
