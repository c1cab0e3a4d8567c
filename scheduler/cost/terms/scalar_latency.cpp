// SPDX-License-Identifier: Apache-2.0
// Latency of scalar code on threads, once a wave: a first load and a last store. In a fused consumer the loads overlap
// with the producer. Partial sums are combined in the block's memory: a tree over them all (columns), or one step for
// the parts of warps:
//
//   waves x latency of the links in and out + steps x (barrier + store to + load from the block's memory)

#include <algorithm>
#include <cmath>

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

MemoryId scratchpad_of(const HardwareModel& model, UnitId block) {
  for (std::size_t m = 0; m < model.memories().size(); ++m)
    if (model.memories()[m].per == block && model.memories()[m].kind == MemoryKind::scratchpad)
      return make_id<MemoryId>(m);
  return {};
}

double combination(const TermContext& at) {
  const HardwareModel& model = *at.view.model;
  const ParallelReductionPlan& plan = at.scalar->plan;
  const MemoryId own = at.scalar->registers, shared = scratchpad_of(model, at.scalar->block);
  if (!own.valid() || !shared.valid() || plan.warp_parts() * (plan.by_columns() ? plan.lanes : 1) == 1) return 0;
  double barrier = 0;
  for (const Barrier& b : model.barriers())
    if (b.unit == at.scalar->block && !b.partial) barrier = std::max(barrier, b.latency);
  const double steps = plan.by_columns() ? std::ceil(std::log2(static_cast<double>(plan.parts()))) : 1;
  return steps * (barrier + latency_between(model, own, shared) + latency_between(model, shared, own));
}

void scalar_latency_times(const TermContext& at, std::vector<TermTime>& times) {
  const HardwareModel& model = *at.view.model;
  const MemoryId own = at.scalar->registers;
  double cycles = 0;
  if (own.valid()) {
    bool consumer = false;
    for (int a = 1; a < access_count(at.view.statement); ++a) consumer = consumer || is_fused(at.view, a);
    if (!consumer) cycles += latency_between(model, model.home(), own);
    cycles += latency_between(model, own, model.home());
  }
  cycles *= at.scalar->waves;
  if (at.scalar->planned && at.scalar->plan.split()) cycles += combination(at);
  times.push_back({"last results", "", cycles});
}

}  // namespace

namespace terms {

extern const Term scalar_latency{"last results",
                                 "waves x latency of the links + steps of the tree x (barrier + store + load)",
                                 "links.*.latency, barriers.*.latency",
                                 "definition of latency",
                                 Overlap::once,
                                 true,
                                 scalar_latency_times,
                                 true};

}  // namespace terms
}  // namespace isamap
