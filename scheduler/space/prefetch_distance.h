// SPDX-License-Identifier: Apache-2.0
#pragma once
// Software prefetch: whether to insert it, and at which distance.

#include <optional>

#include "scheduler/space/cpu_nest.h"

namespace isamap {

struct PrefetchChoice {
  std::string cache;
  int ahead = 1;  ///< steps of the loop
};

/// A loop over a reduction, the innermost or one around short ones.
struct InnermostLoop {
  std::string dim;
  std::int64_t steps = 1;         ///< short loops end before the prefetch pays off
  std::int64_t inside = 1;        ///< steps of the loops inside it, all together
  std::int64_t passes = 1;        ///< consecutive passes over the same elements of the access
  std::int64_t reread_bytes = 0;  ///< tile of the access re-read by an outer loop; 0: none
  std::int64_t tile_bytes = 0;    ///< of the access in one pass
  std::int64_t steps_with_inside() const { return steps * inside; }
};

/// A packed tensor larger than the nearest cache is streamed through it along the innermost reduction, panel by panel.
/// The hardware prefetcher stops at pages and retrains for each panel; likewise for unpacked rows that come from beyond
/// the second cache and conflict in few sets of the nearest one, each step of the loop reading another row. Distance:
/// latencies of the caches / cycles of one step of the loop; for rows at most a third of those that fit their sets.
/// Nothing: no prefetch instruction or latencies, contiguous runs shorter than a line, later passes hit the caches, or
/// bandwidth is the bottleneck; around short loops also where nothing is packed or the nearest cache holds what a pass
/// reads.
std::optional<PrefetchChoice> choose_prefetch(const CpuTemplate& form, int access, const InnermostLoop& loop);

/// Passes over a tile of an input, by loops that do not use it.
struct TilePasses {
  std::string dim;              ///< of the loop around them, which goes from tile to tile
  std::int64_t points = 1;      ///< of that dim in a tile
  std::int64_t tile_bytes = 0;  ///< of the access
  std::int64_t passes = 1;
  std::int64_t steps = 1;                ///< of the outermost reduction loop, in one pass
  std::int64_t inside = 1;               ///< steps of the reduction loops inside it, all together
  std::vector<LayoutDigit> layout = {};  ///< of the packed copy
};

/// The first pass over a tile fetches it; the others find it in a cache and leave the link idle. Where fetching takes
/// longer than a pass, the next tile is prefetched meanwhile, spread over all passes. Nothing: no such link, tiles that
/// are not contiguous, no prefetch instruction into a cache that holds a tile and what one pass prefetches, or so many
/// passes that one line in each step is more than the cache holds.
std::optional<PrefetchChoice> choose_spread_prefetch(const CpuTemplate& form, int access, const TilePasses& over);

}  // namespace isamap
