// SPDX-License-Identifier: Apache-2.0
// Scalar code adds to sums in memory, which a loop over the output sets to their first value before:
//
//   elements of the output x cycles of a contiguous copy
//
// It is printed where nothing holds the sums outside of the reduction loops, and not where the output holds a value
// before (an inout tensor, or an earlier statement).

#include <algorithm>

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

/// Do the sums lie in memory in some reduction loop?
bool adds_in_memory(const ResolvedNest& view) {
  const auto stage =
      std::find_if(view.stages.begin(), view.stages.end(), [](const StagedTile& s) { return s.access == 0; });
  if (stage == view.stages.end()) return true;
  const auto& dims = view.statement.domain.dims;
  return std::any_of(view.loops.begin(), view.loops.begin() + stage->loops, [&](const LoopLevel& loop) {
    return dims[static_cast<std::size_t>(loop.dim)].kind == DimKind::reduction;
  });
}

void sum_initialisation_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  if (view.instruction || view.statement.reduction == Reduction::assign || is_fused(view, 0) ||
      holds_a_value(*view.kernel, view.id) || !adds_in_memory(view))
    return;
  double elements = 1;
  for (const std::int64_t extent : view.kernel->tensors[view.statement.write.tensor.index()].shape)
    elements *= static_cast<double>(extent);
  times.push_back({"initialisation of sums", "", elements * at.timing.copy_contiguous});
}

}  // namespace

namespace terms {

extern const Term sum_initialisation{"initialisation of sums", "elements of the output x cycles of a contiguous copy",
                                     "timing.copy_contiguous", "measured, docs/cost_measured.md",
                                     Overlap::calls,           true,
                                     sum_initialisation_times};

}  // namespace terms
}  // namespace isamap
