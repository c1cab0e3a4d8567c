// SPDX-License-Identifier: Apache-2.0
// Starts of prefetch streams that no software prefetch covers (scheduler/cost/cache_traffic.h), in bytes of the
// bandwidth of the link, of which out-of-order execution hides a part:
//
//   sum over caches: exposed_starts x stream starts / bandwidth / instances

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void stream_start_times(const TermContext& at, std::vector<TermTime>& times) {
  double total = 0;
  for (const auto& [id, cache] : at.traffic.caches)
    if (cache.bandwidth > 0)
      total += at.timing.exposed_starts * cache.stream_starts / cache.bandwidth / cache.instances;
  times.push_back({"prefetch stream starts", "", total});
}

}  // namespace

namespace terms {

extern const Term prefetch_stream_starts{
    "prefetch stream starts",
    "exposed_starts x stream starts / bandwidth / instances",
    "links.*.begin, latency, memories.*.streams, pages, timing (caches)",
    "Intel optimization reference manual, data prefetching; fitted, docs/cost_measured.md",
    Overlap::exposed,
    false,
    stream_start_times};

}  // namespace terms
}  // namespace isamap
