// SPDX-License-Identifier: Apache-2.0
#pragma once
// What flows into caches that the nest does not mention: the access model with stages that nobody wrote.
//
// A cache holds, at the outermost loop where everything below fits, the tiles of all accesses that pass it. Room is
// counted in lines and sets: rows a power of two apart share few sets, so a tile may need many times its bytes. Of the
// tile of the next loop outwards it keeps what it has room for: replacement is not exact, so little is lost at a time.

#include "scheduler/cost/traffic.h"

namespace isamap {

/// What it costs to begin a row anew instead of going on along one, in bytes that come in that time. Whatever fetches
/// neighbouring lines ahead goes a line too far. It does not cross pages: the first lines of rows far apart are waited
/// for, longer where they come from farther: `begin` of the link into the cache. Where sets of the nearest cache are
/// crowded, what was fetched ahead is gone before it is used, and half the latency of the link is waited for. Where
/// nothing is said: two lines into the nearest cache, eight into others, in either case (docs/cost.md).
struct StreamStart {
  double row = 0, crowded = 0;  ///< crowded: 0 where nothing is said

  /// Of a row of which so much is anew, and so much was lost.
  double of(double anew, double lost) const;
  /// Where a part of the rows is asked for ahead (measured: docs/cost.md).
  StreamStart with_asked(double part) const { return {row * (1 - 0.5 * part), crowded * (1 - 0.6 * part)}; }
};
StreamStart begin_cost(const HardwareModel& model, MemoryId cache, bool nearest);
/// It follows so many rows at a time, each within a page (32 where a description says nothing: Intel's optimization
/// reference manual on the streamer). Of more rows every line is a beginning, though the next tile goes on along them.
inline double row_streams(const Memory& cache) { return cache.streams > 0 ? static_cast<double>(cache.streams) : 32; }

void add_cache_traffic(const ResolvedNest& view, const TileCounts& counts, Traffic& traffic);

}  // namespace isamap
