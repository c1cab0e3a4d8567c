// SPDX-License-Identifier: Apache-2.0
// Transfers into and out of scratchpads and accumulators with a single buffer: nothing else uses the tile meanwhile.
//
//   sum: bytes of an instance / bandwidth of each link on the path

#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

void single_buffer_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  double total = 0;
  for (const Transfer& t : at.traffic.transfers) {
    if (t.stage < 0 || t.from == t.to) continue;
    const MemoryKind kind = view.model->memory(t.to).kind;
    const bool addressed = kind == MemoryKind::scratchpad || kind == MemoryKind::accumulator;
    if (!addressed || view.stages[static_cast<std::size_t>(t.stage)].stage.buffers > 1) continue;
    const DType dtype = view.kernel->tensors[access_of(view.statement, t.access).tensor.index()].dtype;
    const double moved = (t.elements_in + t.elements_out) * bytes(dtype) / t.instances;
    for (LinkId l : links_between(*view.model, t.from, t.to))
      if (view.model->link(l).bandwidth > 0) total += moved / view.model->link(l).bandwidth;
  }
  times.push_back({"single-buffered transfers", "", total});
}

}  // namespace

namespace terms {

extern const Term single_buffers{"single-buffered transfers",
                                 "bytes of an instance / bandwidth",
                                 "links.*.bandwidth",
                                 "definition of a single buffer",
                                 Overlap::exposed,
                                 true,
                                 single_buffer_times};

}  // namespace terms
}  // namespace isamap
