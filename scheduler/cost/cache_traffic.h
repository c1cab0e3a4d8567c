// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implicit cache traffic: the access-count model applied to caches, which have no `stage` line.
//
// A cache holds the tiles below the outermost loop at which the tiles of all accesses through it fit together. Capacity
// is counted in lines and sets: rows a power of two apart map to few sets, so a tile may need many times its bytes
// (conflict misses). The tile of the next outer loop stays resident in part: replacement is not exact LRU, so hits
// decline gradually.

#include "scheduler/cost/traffic.h"

namespace isamap {

/// Cost of starting a new prefetch stream, in bytes of link bandwidth. The hardware prefetcher runs along a row and
/// does not cross pages, so the first lines of a distant row have exposed latency, the longer the farther the source:
/// `begin` of the link into the cache. Conflict misses in the nearest cache evict prefetched lines before their use,
/// which exposes a share of the latency of the link (`conflict_latency`). Without `begin` in the description: so many
/// lines into the nearest cache (`start_nearest`) or into others (`start_farther`), in either case (docs/cost.md).
struct StreamStart {
  double row = 0, conflict = 0;  ///< per row started; per row with prefetched lines evicted, 0: not stated

  /// `started`: share of rows that start a stream; `evicted`: share of prefetched lines evicted before use.
  double penalty(double started, double evicted) const;
  /// With a software prefetch for this share of the rows.
  StreamStart with_prefetch(double share, const TimingParameters& timing) const {
    return {row * (1 - timing.prefetched_starts * share), conflict * (1 - timing.prefetched_conflicts * share)};
  }
};
StreamStart stream_start(const HardwareModel& model, MemoryId cache, bool nearest);
/// Streams that the hardware prefetcher tracks at a time, each within a page. With more rows every line starts a
/// stream, even where the next tile continues along them.
inline double prefetch_streams(const Memory& cache, const TimingParameters& timing) {
  return cache.streams > 0 ? static_cast<double>(cache.streams) : timing.prefetch_streams;
}

void add_cache_traffic(const ResolvedNest& view, const TileCounts& counts, Traffic& traffic);

}  // namespace isamap
