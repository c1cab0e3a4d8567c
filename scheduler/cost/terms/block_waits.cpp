// SPDX-License-Identifier: Apache-2.0
// What nothing hides in thread blocks, and what each wave pays once.
//
//   first tiles   latency of the links of copies that producer warps make ahead, once if blocks are persistent
//   barriers      waves x steps x (barrier + latency of the links unless copies run ahead); a ring of buffers that
//                 restarts exposes its prologue. Polling a counter costs as much as a barrier.
//   last results  waves x (latency of the links out, and of copies made ahead without producers)

#include "scheduler/cost/pipelining.h"
#include "scheduler/cost/term.h"

namespace isamap {

namespace {

/// Stages in the scratchpad, one of those that are filled and awaited together.
template <class F>
void for_each_awaited(const TermContext& at, F&& visit) {
  for (const BlockRefill& r : at.blocks->refills)
    if (!r.output && !r.registers && r.first_at_its_loop) visit(r, pipelining_of(at, r));
}

void block_prologue_times(const TermContext& at, std::vector<TermTime>& times) {
  double cycles = 0;
  for_each_awaited(at, [&](const BlockRefill& r, const Pipelining& p) {
    if (p.role && p.ahead > 0) cycles += r.latency;
  });
  times.push_back({"first tiles", "", cycles * (at.blocks->persistent ? 1 : at.blocks->waves)});
}

void block_barrier_times(const TermContext& at, std::vector<TermTime>& times) {
  const double barrier = barrier_latency(*at.view.model, at.blocks->block);
  double cycles = 0;
  for_each_awaited(at, [&](const BlockRefill& r, const Pipelining& p) {
    cycles += r.times * (barrier + (p.ahead > 0 ? 0 : r.latency)) + (p.ahead > 0 ? (p.restarts - 1) * r.latency : 0);
  });
  times.push_back({"barriers and exposed tile fills", "", cycles * at.blocks->waves});
}

void block_epilogue_times(const TermContext& at, std::vector<TermTime>& times) {
  double cycles = 0;
  for (const BlockRefill& r : at.blocks->refills)
    if (r.output) cycles += r.latency;
  for_each_awaited(at, [&](const BlockRefill& r, const Pipelining& p) {
    if (!p.role && p.ahead > 0) cycles += r.latency;
  });
  times.push_back({"last results", "", cycles * at.blocks->waves});
}

}  // namespace

namespace terms {

extern const Term block_prologue{"first tiles",       "latency of copies that producers make ahead",
                                 "links.*.latency",   "definition of latency",
                                 Overlap::once,       true,
                                 block_prologue_times};

extern const Term block_barriers{"barriers and exposed tile fills",
                                 "waves x steps x (barrier + latency of copies that do not run ahead)",
                                 "barriers.*.latency, links.*.latency",
                                 "definition of latency",
                                 Overlap::exposed,
                                 true,
                                 block_barrier_times};

extern const Term block_epilogue{"last results",       "waves x latency of the links out",
                                 "links.*.latency",    "definition of latency",
                                 Overlap::once,        true,
                                 block_epilogue_times, true};

}  // namespace terms
}  // namespace isamap
