// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/tile_sizes.h"

#include <algorithm>

namespace isamap {

namespace {

/// Over the dims from `next` on.
double sum_of_tiles(const TileCounts& counts, int loops, std::vector<std::int64_t>& sizes, std::size_t next,
                    const std::function<double(const std::vector<std::int64_t>&)>& value) {
  if (next == sizes.size()) return value(sizes);
  double sum = 0, times = 0;
  for (const auto& [extent, count] : counts.tiles_along(static_cast<int>(next), loops)) {
    sizes[next] = extent;
    sum += count * sum_of_tiles(counts, loops, sizes, next + 1, value);
    times += count;
  }
  return sum / std::max(1.0, times);
}

}  // namespace

double mean_of_tiles(const TileCounts& counts, int loops,
                     const std::function<double(const std::vector<std::int64_t>& sizes)>& value) {
  std::vector<std::int64_t> sizes(counts.extents(loops).size(), 0);
  return sum_of_tiles(counts, loops, sizes, 0, value);
}

}  // namespace isamap
