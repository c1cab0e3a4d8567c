// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packing time: copies by a scalar unit, element by element, or by moves within a memory.

#include "scheduler/cost/term.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// Cycles per element of a packed copy: of the move that packs it (scheduler/nest/packing_moves.h), or of a scalar
/// unit, times the copies of each element in its layout (an im2col layout repeats them).
double copy_cycles(const ResolvedNest& view, const StagedTile& stage);

/// Adds "packed copy of B" for each packed tensor: at least the cache traffic of the copy. Packing is not overlapped
/// with calls.
void append_packing_times(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                          std::vector<TermTime>& times);
/// Their sum.
double copying_cycles(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);

}  // namespace isamap
