// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/tile_sizes.h"

#include <algorithm>

namespace isamap {

TileExtents extents_below(const ResolvedNest& view, int dim, int loops) {
  TileExtents sizes{{view.statement.domain.dims[static_cast<std::size_t>(dim)].extent, 1.0}};
  for (int w = 0; w < loops; ++w) {
    const LoopLevel& loop = view.loops[static_cast<std::size_t>(w)];
    if (loop.dim != dim || loop.tile <= 0) continue;
    TileExtents inside;
    const auto add = [&](std::int64_t size, double times) {
      const auto known =
          std::find_if(inside.begin(), inside.end(), [&](const auto& entry) { return entry.first == size; });
      if (known == inside.end())
        inside.emplace_back(size, times);
      else
        known->second += times;
    };
    for (const auto& [size, times] : sizes) {
      if (size >= loop.tile) add(loop.tile, times * static_cast<double>(size / loop.tile));
      if (size % loop.tile > 0) add(size % loop.tile, times);
    }
    sizes = std::move(inside);
  }
  return sizes;
}

namespace {

using ExtentsByDim = boost::container::small_vector<TileExtents, 8>;

double sum_of_tiles(const ExtentsByDim& extents, std::vector<std::int64_t>& sizes, std::size_t next,
                    const std::function<double(const std::vector<std::int64_t>&)>& value) {
  if (next == extents.size()) return value(sizes);
  double sum = 0, times = 0;
  for (const auto& [extent, count] : extents[next]) {
    sizes[next] = extent;
    sum += count * sum_of_tiles(extents, sizes, next + 1, value);
    times += count;
  }
  return sum / std::max(1.0, times);
}

}  // namespace

double mean_of_tiles(const ResolvedNest& view, int loops,
                     const std::function<double(const std::vector<std::int64_t>& sizes)>& value) {
  ExtentsByDim extents;
  for (int d = 0; d < view.dim_count(); ++d) extents.push_back(extents_below(view, d, loops));
  std::vector<std::int64_t> sizes(extents.size(), 0);
  return sum_of_tiles(extents, sizes, 0, value);
}

}  // namespace isamap
