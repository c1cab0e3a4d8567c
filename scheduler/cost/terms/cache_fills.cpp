// SPDX-License-Identifier: Apache-2.0
// Bytes into a cache (scheduler/cost/cache_traffic.h) / bandwidth of the link that fills it / instances. The lines of
// skipped points are fetched for other points all the same.

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void cache_fill_times(const TermContext& at, std::vector<TermTime>& times) {
  for (const auto& [id, cache] : at.traffic.caches)
    if (cache.bandwidth > 0)
      times.push_back({"cache",
                       at.view.model->memory(id).name,
                       cache.bytes / cache.bandwidth / cache.instances,
                       BoundOf::cache,
                       0,
                       {},
                       id});
}

}  // namespace

namespace terms {

extern const Term cache_fills{"cache",
                              "bytes filled / bandwidth / instances",
                              "memories.*.capacity, line, ways, usable, links.*.bandwidth, timing (caches)",
                              "roofline; stack distances with set conflicts, docs/cost.md",
                              Overlap::bound,
                              false,
                              cache_fill_times};

}  // namespace terms
}  // namespace isamap
