// SPDX-License-Identifier: Apache-2.0
#pragma once
// Is the output of a nest read before it is first written?

#include <algorithm>

#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// `inout`, a tile that begins with a copy (ir/begun_sums.h), or a sum onto what an earlier statement wrote.
inline bool starts_full(const ResolvedNest& view) {
  const std::vector<Computation>& statements = view.kernel->statements;
  const TensorId output = view.statement.write.tensor;
  const auto before = statements.begin() + static_cast<std::ptrdiff_t>(view.id.index());
  return view.kernel->tensors[output.index()].inout ||
         std::any_of(view.stages.begin(), view.stages.end(),
                     [](const StagedTile& s) { return s.access == 0 && !s.stage.from.empty(); }) ||
         (view.statement.reduction != Reduction::assign &&
          std::any_of(statements.begin(), before, [&](const Computation& s) { return s.write.tensor == output; }));
}

}  // namespace isamap
