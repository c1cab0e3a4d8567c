// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies by a scalar unit, element by element: the loops that lowering makes of them, each element in the cycles that
// simulators count (ir/element_cycles.h).

#include <optional>

#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// Copies of a tile of these extents between a tensor and a stage of home memory.
struct ScalarCopy {
  double filled = 0;   ///< cycles of one copy into the stage, its padding included
  double drained = 0;  ///< of one out of it; 0 of inputs
  /// Mean cycles of an element that is copied into the stage, padding left out; nothing: none is. Of places that divide
  /// a variable these depend on the tile: its loops are split where they can be (scheduler/lowering/divided_loops.h).
  std::optional<double> each = {};
};
/// Nothing: no scalar unit makes it.
std::optional<ScalarCopy> scalar_copy(const ResolvedNest& view, const StagedTile& stage,
                                      const std::vector<std::int64_t>& extents);

}  // namespace isamap
