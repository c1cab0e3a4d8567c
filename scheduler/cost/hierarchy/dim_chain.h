// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tile sizes of a chain of loops over one dim, with counts: at most one full and one tail size a loop.

#include "scheduler/cost/hierarchy/point.h"

namespace isamap::hierarchy {

struct Size {
  std::int64_t extent;
  double count;
};

/// A short list without allocation; entries beyond `n` are uninitialised.
struct Sizes {
  static constexpr int most = 2 * max_levels * (1 + max_axes);
  int n;
  std::array<Size, most> at;
  Sizes() : n(0) {}
  Sizes(const Sizes& other) : n(other.n) { copy(other); }
  Sizes& operator=(const Sizes& other) {
    n = other.n;
    copy(other);
    return *this;
  }
  void copy(const Sizes& other) {
    for (int i = 0; i < n; ++i) at[static_cast<std::size_t>(i)] = other.at[static_cast<std::size_t>(i)];
  }
  void add(std::int64_t extent, double count) {
    if (extent <= 0 || count <= 0) return;
    for (int i = 0; i < n; ++i)
      if (at[static_cast<std::size_t>(i)].extent == extent) {
        at[static_cast<std::size_t>(i)].count += count;
        return;
      }
    at[static_cast<std::size_t>(n++)] = {extent, count};
  }
};

/// The loops of one dim that have more than one step. "The stage of level s" is below all loops of levels before s.
class DimChain {
 public:
  void read(const Problem& problem, const LevelPoint& point, int dim);

  bool even() const { return even_; }  ///< every tile divides the one around it
  bool loops(int level) const { return time_[static_cast<std::size_t>(level)] >= 0; }
  std::int64_t tile(int level) const {
    return loops_[static_cast<std::size_t>(time_[static_cast<std::size_t>(level)])].tile;
  }
  std::int64_t trip(int level, int axis) const {
    return axis_trips_[static_cast<std::size_t>(level)][static_cast<std::size_t>(axis)];
  }
  double instances(int level) const { return instances_[static_cast<std::size_t>(level)]; }
  std::int64_t tile_at(int level) const { return tile_at_[static_cast<std::size_t>(level)]; }

  /// All tiles at the stage of `level`, over all steps and instances.
  const Sizes& all(int level) const { return all_[static_cast<std::size_t>(level)]; }
  /// Number of tiles at the stage of `level` when loops of levels >= `first` are at their first step, the loop of level
  /// `later` has advanced (-1: none), and loops on units at levels >= `shared` count their first instance only.
  double count(int level, int first, int shared, int later = -1) const;
  /// Tiles of instances with a single step in the loops of levels [first, level).
  void single(int level, int first, Sizes& result) const;
  /// Are those all tiles, independent of sizes?
  bool is_single(int level, int first) const;
  /// The same after the loop of level `from` has advanced.
  void later(int level, int from, Sizes& result) const;
  /// No loop of this dim between the one of `from` and the stage of `level`, and units divide its tile.
  bool innermost_loop(int level, int from) const;

 private:
  struct TiledLoop {
    int level;
    bool time;
    std::int64_t tile, trip;
    bool divides;
  };
  void lone(int loop, int end, const Sizes& steps, double weight, Sizes& result) const;

  static constexpr int most_loops = max_levels * (1 + max_axes);
  int count_ = 0;
  bool even_ = true;  ///< every tile divides the one around it
  std::int64_t extent_ = 1;
  std::array<TiledLoop, most_loops> loops_;
  std::array<int, max_levels + 1> begin_;  ///< first loop of a level
  std::array<int, max_levels> time_;
  std::array<double, max_levels> instances_;
  std::array<std::array<std::int64_t, max_axes>, max_levels> axis_trips_;
  std::array<std::int64_t, max_levels + 1> tile_at_;
  std::array<Sizes, max_levels + 1> all_;
};

}  // namespace isamap::hierarchy
