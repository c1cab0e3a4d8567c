// SPDX-License-Identifier: Apache-2.0
// Phases of misses in the last-level cache, beyond the longest bound: the evicted part of tensors that are resident in
// part is read in long runs, during which only the link to memory is busy. With m the cycles of its misses, o the
// longest other bound, and s the share of misses (bytes over those without any residence):
//
//   o + max(0, m - s x o) - longest

#include <algorithm>

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void llc_miss_phase_times(const TermContext& at, std::vector<TermTime>& times) {
  const CacheTraffic* outermost = nullptr;
  MemoryId cache;
  for (const auto& [id, flow] : at.traffic.caches)
    if (!cache.valid() || at.view.model->memory(id).capacity > at.view.model->memory(cache).capacity)
      cache = id, outermost = &flow;
  if (!cache.valid() || outermost->bandwidth <= 0 || outermost->bytes <= 0) return;
  double others = 0;
  for (const TermTime& b : at.bounds)
    if (b.cache != cache) others = std::max(others, b.cycles);
  const double missing = outermost->bytes / outermost->bandwidth / outermost->instances;
  const double share = std::min(1.0, outermost->bytes / std::max(outermost->worst, outermost->bytes));
  times.push_back({"LLC miss phases", "", others + std::max(0.0, missing - share * others) - at.longest});
}

}  // namespace

namespace terms {

extern const Term llc_miss_phases{"LLC miss phases",
                                  "others + max(0, misses - share x others) - longest",
                                  "memories.*.capacity, links.*.bandwidth",
                                  "measured, docs/cost_measured.md",
                                  Overlap::exposed,
                                  false,
                                  llc_miss_phase_times};

}  // namespace terms
}  // namespace isamap
