// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/hierarchy/dim_chain.h"

#include <algorithm>

namespace isamap::hierarchy {

namespace {

void split(const Sizes& sizes, std::int64_t tile, Sizes& next) {
  for (int i = 0; i < sizes.n; ++i) {
    const Size& s = sizes.at[at(i)];
    const std::int64_t full = s.extent / tile;
    next.add(tile, static_cast<double>(full) * s.count);
    next.add(s.extent - full * tile, s.count);
  }
}

}  // namespace

void DimChain::read(const Problem& problem, const LevelPoint& point, int dim) {
  extent_ = problem.dims[at(dim)].extent;
  count_ = 0;
  even_ = true;
  std::int64_t tile = extent_;
  Sizes now;
  now.add(extent_, 1);
  const auto loop = [&](int level, bool time, std::int64_t wanted) -> std::int64_t {
    const std::int64_t inner = std::min(tile, wanted);
    if (inner == tile) return 1;
    const bool divides = tile % inner == 0;
    const std::int64_t trip = divides ? tile / inner : tile / inner + 1;
    loops_[at(count_++)] = {level, time, inner, trip, divides};
    even_ = even_ && divides;
    if (even_) {
      now.at[0] = {inner, now.at[0].count * static_cast<double>(trip)};
    } else {
      Sizes next;
      split(now, inner, next);
      now = next;
    }
    tile = inner;
    return trip;
  };
  const int levels = problem.level_count();
  for (int l = 0; l < levels; ++l) {
    const LevelPoint::At& level = point.levels[at(l)];
    begin_[at(l)] = count_;
    tile_at_[at(l)] = tile;
    all_[at(l)] = now;
    time_[at(l)] = loop(l, true, level.time[at(dim)]) > 1 ? count_ - 1 : -1;
    instances_[at(l)] = 1;
    for (std::size_t x = 0; x < problem.levels[at(l)].axes.size(); ++x) {
      axis_trips_[at(l)][x] = loop(l, false, level.axis[x][at(dim)]);
      instances_[at(l)] *= static_cast<double>(axis_trips_[at(l)][x]);
    }
  }
  begin_[at(levels)] = count_;
  tile_at_[at(levels)] = tile;
  all_[at(levels)] = now;
}

double DimChain::count(int level, int first, int shared, int later) const {
  const int end = begin_[at(level)];
  if (even_) {
    double product = 1;
    for (int w = 0; w < end; ++w) {
      const TiledLoop& loop = loops_[at(w)];
      if (!loop.time)
        product *= loop.level >= shared ? 1 : static_cast<double>(loop.trip);
      else if (loop.level == later)
        product *= static_cast<double>(loop.trip - 1);
      else if (loop.level < first)
        product *= static_cast<double>(loop.trip);
    }
    return product;
  }
  Sizes now;
  now.add(extent_, 1);
  for (int w = 0; w < end; ++w) {
    const TiledLoop& loop = loops_[at(w)];
    const bool advanced = loop.time && loop.level == later;
    const bool free = loop.time ? loop.level < first : loop.level < shared;
    Sizes next;
    for (int i = 0; i < now.n; ++i) {
      const Size& s = now.at[at(i)];
      const std::int64_t full = s.extent / loop.tile, remainder = s.extent % loop.tile;
      if (advanced) {
        next.add(loop.tile, static_cast<double>(full - 1) * s.count);
        if (full > 0) next.add(remainder, s.count);
      } else if (free) {
        next.add(loop.tile, static_cast<double>(full) * s.count);
        next.add(remainder, s.count);
      } else {
        next.add(std::min(loop.tile, s.extent), s.count);
      }
    }
    now = next;
  }
  double total = 0;
  for (int i = 0; i < now.n; ++i) total += now.at[at(i)].count;
  return total;
}

bool DimChain::is_single(int level, int first) const {
  for (int w = begin_[at(first)]; w < begin_[at(level)]; ++w)
    if (loops_[at(w)].time) return false;
  return true;
}

void DimChain::single(int level, int first, Sizes& result) const {
  const int end = begin_[at(level)];
  const Sizes& outer = all_[at(first)];
  if (even_) {
    if (is_single(level, first)) result = all_[at(level)];
    return;
  }
  for (int i = 0; i < outer.n; ++i) {
    Sizes one;
    one.add(outer.at[at(i)].extent, 1);
    lone(begin_[at(first)], end, one, outer.at[at(i)].count, result);
  }
}

void DimChain::later(int level, int from, Sizes& result) const {
  const int number = time_[at(from)], end = begin_[at(level)];
  const TiledLoop& loop = loops_[at(number)];
  const Sizes& outer = all_[at(from)];
  for (int i = 0; i < outer.n; ++i) {
    const Size& s = outer.at[at(i)];
    const std::int64_t full = s.extent / loop.tile, remainder = s.extent % loop.tile;
    Sizes one;
    if (full > 1) {
      one.add(loop.tile, 1);
      lone(number + 1, end, one, static_cast<double>(full - 1) * s.count, result);
    }
    if (full > 0 && remainder > 0) {
      one.n = 0;
      one.add(remainder, 1);
      lone(number + 1, end, one, s.count, result);
    }
  }
}

/// An instance must have exactly one step in time. With tails that differs between instances, so they are kept in
/// classes with equal steps.
void DimChain::lone(int w, int end, const Sizes& steps, double weight, Sizes& result) const {
  if (w == end) {
    if (steps.n == 1 && steps.at[0].count == 1) result.add(steps.at[0].extent, weight);
    return;
  }
  const TiledLoop& loop = loops_[at(w)];
  if (loop.time) {
    Sizes next;
    split(steps, loop.tile, next);
    return lone(w + 1, end, next, weight, result);
  }
  std::array<std::int64_t, 2 * Sizes::most> ends;  // classes of instances: cut where the last tile of a step ends
  int cuts = 0;
  for (int i = 0; i < steps.n; ++i) {
    const std::int64_t full = steps.at[at(i)].extent / loop.tile;
    ends[at(cuts++)] = full;
    if (full * loop.tile < steps.at[at(i)].extent) ends[at(cuts++)] = full + 1;
  }
  std::sort(ends.begin(), ends.begin() + cuts);
  std::int64_t begin = 0;
  for (int c = 0; c < cuts; ++c) {
    const std::int64_t stop = ends[at(c)];
    if (stop <= begin) continue;
    Sizes next;
    for (int i = 0; i < steps.n; ++i)
      next.add(std::min(loop.tile, steps.at[at(i)].extent - begin * loop.tile), steps.at[at(i)].count);
    lone(w + 1, end, next, weight * static_cast<double>(stop - begin), result);
    begin = stop;
  }
}

bool DimChain::innermost_loop(int level, int from) const {
  for (int w = time_[at(from)] + 1; w < begin_[at(level)]; ++w)
    if (loops_[at(w)].time || !loops_[at(w)].divides) return false;
  return true;
}

}  // namespace isamap::hierarchy
