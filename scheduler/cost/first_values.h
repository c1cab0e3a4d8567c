// SPDX-License-Identifier: Apache-2.0
#pragma once
// Is the output of a nest read before it is first written?

#include <algorithm>

#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// `inout`, or a tile that begins with a copy (ir/begun_sums.h).
inline bool starts_full(const ResolvedNest& view) {
  return view.kernel->tensors[view.statement.write.tensor.index()].inout ||
         std::any_of(view.stages.begin(), view.stages.end(),
                     [](const StagedTile& s) { return s.access == 0 && !s.stage.from.empty(); });
}

}  // namespace isamap
