// SPDX-License-Identifier: Apache-2.0
// Mispredicted exits of loops: from `predicted_trips` trips on the branch at the end of a loop is assumed to
// mispredict, at `loop_end` cycles of pipeline refill.
//
//   sum over loops that are neither unrolled nor distributed, with at least predicted_trips trips: steps x loop_end

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void loop_exit_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  if (!view.instruction) return;
  const double each = view.model->unit(view.instruction->unit).loop_end;
  if (each <= 0) return;
  double total = 0;
  for (std::size_t w = 0; w < view.loops.size(); ++w)
    if (const LoopLevel& loop = view.loops[w]; !loop.unroll && !loop.unit.valid())
      if (const auto trips = static_cast<double>(at.counts.trip(static_cast<int>(w)));
          trips >= at.timing.predicted_trips)
        total += at.counts.steps(static_cast<int>(w)) * each;
  times.push_back({"loop exits", "", total * view.in_bounds});
}

}  // namespace

namespace terms {

extern const Term loop_exits{"loop exits",
                             "steps of loops with at least predicted_trips trips x loop_end",
                             "units.*.loop_end, timing.predicted_trips",
                             "measured, docs/cost_measured.md",
                             Overlap::calls,
                             true,
                             loop_exit_times};

}  // namespace terms
}  // namespace isamap
