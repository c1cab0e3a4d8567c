// SPDX-License-Identifier: Apache-2.0
// Where a loop of the reduction outside the accumulators spills their tiles, the calls that update them wait for all of
// their lines and for the latency of each link on the path, of which out-of-order execution hides a part. For each
// cache that the partial sums miss, with s the share of them that does:
//
//   exposed_reloads x s x (bytes reloaded / bandwidth + tiles x latency) / instances

#include <algorithm>

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void partial_sum_reload_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  const int stage = view.innermost[0];
  if (stage < 0 || !view.model->memory(view.memory_of(stage)).is_register()) return;
  const auto t = std::find_if(at.traffic.transfers.begin(), at.traffic.transfers.end(),
                              [&](const Transfer& one) { return one.stage == stage; });
  if (t == at.traffic.transfers.end() || t->elements_in <= 0 || t->elements_out <= 0) return;
  const double size = bytes(view.kernel->tensors[view.statement.write.tensor.index()].dtype);
  const double stored = t->elements_out * size;
  const double tile = at.counts.tile(0, view.stages[static_cast<std::size_t>(stage)].loops);
  const double refills = t->elements_in / std::max(1.0, tile);
  double total = 0;
  for (const Link& link : view.model->links()) {
    const auto cache = at.traffic.caches.find(link.to);
    if (cache == at.traffic.caches.end() || link.bandwidth <= 0) continue;
    const double share = std::min(1.0, cache->second.of_output / 2 / stored);  // half: each line is read and written
    total += at.timing.exposed_reloads * share * (t->elements_in * size / link.bandwidth + refills * link.latency) /
             cache->second.instances;
  }
  times.push_back({"partial-sum reloads", "", total});
}

}  // namespace

namespace terms {

extern const Term partial_sum_reloads{"partial-sum reloads",
                                      "exposed_reloads x missing share x (bytes / bandwidth + tiles x latency)",
                                      "links.*.bandwidth, latency, timing.exposed_reloads",
                                      "fitted, docs/cost_measured.md",
                                      Overlap::exposed,
                                      false,
                                      partial_sum_reload_times};

}  // namespace terms
}  // namespace isamap
