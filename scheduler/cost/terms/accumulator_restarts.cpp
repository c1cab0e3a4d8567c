// SPDX-License-Identifier: Apache-2.0
// Where a reduction is split above the accumulators, each visit of theirs starts with the latency of loading the
// partial sums and ends with the latency of the last call:
//
//   visits x (latency of the call + latency of the load)

#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

void accumulator_restart_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  const int stage = view.innermost[0];
  if (!view.instruction || view.statement.reduction == Reduction::assign || stage < 0 ||
      !view.model->memory(view.memory_of(stage)).is_register())
    return;
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  double parts = 1;
  for (int w = 0; w < s.loops; ++w)
    if (!at.counts.uses_loop(0, w) && !view.loops[static_cast<std::size_t>(w)].unit.valid())
      parts *= static_cast<double>(at.counts.trip(w));
  if (parts <= 1) return;
  const DType dtype = view.kernel->tensors[view.statement.write.tensor.index()].dtype;
  const Instruction* load = move_between(*view.model, view.memory_of(s.parent), view.memory_of(stage), dtype);
  const double of_load = load == nullptr ? 0 : full_latency(*load);
  const double of_call = latency_of(*view.instruction, view.call_extents(), *view.model);
  times.push_back({"accumulator restarts", "", at.counts.steps(s.loops) * (of_call + of_load) * view.in_bounds});
}

}  // namespace

namespace terms {

extern const Term accumulator_restarts{"accumulator restarts",
                                       "visits of accumulators x (latency of a call + latency of a load)",
                                       "instructions.*.timing.latency",
                                       "definition of latency",
                                       Overlap::calls,
                                       true,
                                       accumulator_restart_times};

}  // namespace terms
}  // namespace isamap
