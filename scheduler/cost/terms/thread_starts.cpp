// SPDX-License-Identifier: Apache-2.0
// Parallel loops: what it takes to begin one on all its threads, and to wait for the last of them. A fused consumer is
// inside the loop of its producer.
//
//   sum over outermost loops distributed over threads: times entered x start

#include <algorithm>

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void thread_start_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  if (std::any_of(view.stages.begin(), view.stages.end(),
                  [](const StagedTile& staged) { return !staged.stage.from.empty(); }))
    return;
  for (std::size_t w = 0; w < view.loops.size(); ++w) {
    const LoopLevel& loop = view.loops[w];
    if (!loop.unit.valid() || at.counts.trip(static_cast<int>(w)) < 2) continue;
    const Threads& threads = view.model->unit(loop.unit).threads;
    if (threads.loop.empty()) continue;
    if (threads.start > 0)
      times.push_back({"start of threads", "", at.counts.steps(static_cast<int>(w)) * threads.start});
    return;
  }
}

}  // namespace

namespace terms {

extern const Term thread_starts{
    "start of threads",      "times entered x start, of the outermost loop distributed over threads",
    "units.*.threads.start", "definition of the parameter",
    Overlap::once,           false,
    thread_start_times};

}  // namespace terms
}  // namespace isamap
