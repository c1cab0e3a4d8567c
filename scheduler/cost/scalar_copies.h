// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies by a scalar unit, element by element: the loops that lowering makes of them, each element in the cycles that
// simulators count (ir/element_cycles.h).

#include <optional>

#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// Cycles of one copy of a tile of these extents between a tensor and a stage of home memory, its padding included.
/// Nothing: no scalar unit makes it.
struct ScalarCopy {
  double filled = 0;   ///< into the stage
  double drained = 0;  ///< out of it; 0 of inputs
};
std::optional<ScalarCopy> scalar_copy(const ResolvedNest& view, const StagedTile& stage,
                                      const std::vector<std::int64_t>& extents);

/// Mean cycles of an element that is copied into the stage, padding left out. Of places that divide a variable these
/// depend on the tile: its loops are split where they can be (scheduler/lowering/divided_loops.h).
std::optional<double> cycles_per_copied_element(const ResolvedNest& view, const StagedTile& stage,
                                                const std::vector<std::int64_t>& extents);

}  // namespace isamap
