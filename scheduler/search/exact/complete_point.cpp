// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/exact/complete_point.h"

#include <algorithm>

#include "scheduler/cost/hierarchy/dim_chain.h"

namespace isamap::hierarchy {

LevelPoint complete_point(const Problem& problem, const Keep& keep, const SpatialUnrolling& unrolling,
                          const LevelPoint::Tiles* tile) {
  LevelPoint point = plain_point(problem);
  const int last = problem.level_count() - 1;
  for (int l = 0; l <= last; ++l) {
    LevelPoint::At& level = point.levels[at(l)];
    level.keep = keep[at(l)];
    if (l == last) break;
    for (int d = 0; d < problem.dim_count(); ++d) {
      const std::int64_t extent = problem.dims[at(d)].extent, inner = tile[l + 1][at(d)];
      std::int64_t steps = unrolling.steps[at(l)][at(d)];
      level.time[at(d)] = std::min(extent, inner * steps);
      for (std::size_t x = 0; x < problem.levels[at(l)].axes.size(); ++x) {
        steps /= unrolling.axis[at(l)][x][at(d)];
        level.axis[x][at(d)] = std::min(extent, inner * steps);
      }
    }
  }
  return point;
}

Loops loops_of(const Problem& problem, const LevelPoint& point) {
  Loops loops;
  for (int d = 0; d < problem.dim_count(); ++d) {
    DimChain chain;
    chain.read(problem, point, d);
    for (int l = 0; l + 1 < problem.level_count(); ++l) {
      if (!chain.loops(l)) continue;
      loops.at[at(l)] |= 1U << d;
      for (int stage = l + 1; stage < problem.level_count() && !chain.even(); ++stage) {
        Sizes single;
        chain.single(stage, l, single);
        if (single.n > 0) loops.short_tails[at(l)] |= 1U << d;
      }
    }
  }
  return loops;
}

}  // namespace isamap::hierarchy
