// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where execution stands in a nest: the position of every walk in time, as the first instance of every unit sees it.
// That instance has the largest tiles and the most steps, so whatever others do, it does too.

#include "scheduler/cost/access_counts.h"

namespace isamap {

/// The walks of a nest as plain numbers, for what looks at them at every step.
struct WalkTable {
  explicit WalkTable(const ResolvedNest& view, const TileCounts& counts);

  struct Entry {
    int dim = 0, before = -1;  ///< the walk of the same dim outside it; -1: none
    bool time = true;
    std::int64_t tile = 1;
    std::vector<bool> used;  ///< by access
  };
  std::vector<Entry> walks;
  std::vector<std::int64_t> extents;  ///< of dims
};

/// Steps through the walks in time above `place`.
class WalkPosition {
 public:
  WalkPosition(const WalkTable& table, int place);

  bool empty() const { return empty_; }  ///< some dim has no points
  /// The next step; the walk that advanced, the others inside it being at their first step; -1: there is none.
  int advance();
  std::int64_t at(int walk) const { return at_[static_cast<std::size_t>(walk)]; }
  std::int64_t steps(int walk) const { return steps_[static_cast<std::size_t>(walk)]; }

  /// Of all dims, below the walks above `place`.
  void extents(std::vector<std::int64_t>& out) const;

  /// Does a tile of `access` below the walks above `place` change when `walk` advances? Asked after it did.
  bool renewed(int access, int place, int walk) const;
  /// Is every walk in time above `place` that the access does not use at its first step?
  bool first(int access, int place) const;

 private:
  void settle(std::size_t from);

  const WalkTable* table_;
  std::size_t place_;
  std::vector<std::int64_t> at_, steps_, inside_;  ///< inside: extent of the walk's dim below it
  bool empty_ = false;
};

}  // namespace isamap
