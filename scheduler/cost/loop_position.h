// SPDX-License-Identifier: Apache-2.0
#pragma once
// Position of execution in a nest: the step of every time loop, for the first instance of every unit, which has the
// largest tiles and the most steps and so includes the steps of all others.

#include "scheduler/cost/access_counts.h"

namespace isamap {

/// Flat loop table for use at every step.
struct LoopTable {
  explicit LoopTable(const ResolvedNest& view, const TileCounts& counts);

  struct Entry {
    int dim = 0, before = -1;  ///< the loop of the same dim outside it; -1: none
    bool time = true;
    std::int64_t tile = 1;
    std::vector<bool> used;  ///< by access
  };
  std::vector<Entry> loops;
  std::vector<std::int64_t> extents;  ///< of dims
};

/// Iterates over the time loops above `place`.
class LoopPosition {
 public:
  LoopPosition(const LoopTable& table, int place);

  bool empty() const { return empty_; }  ///< some dim has no points
  /// Next step. Returns the loop that advanced, those inside it restarted; -1: end.
  int advance();
  std::int64_t at(int loop) const { return at_[static_cast<std::size_t>(loop)]; }
  std::int64_t steps(int loop) const { return steps_[static_cast<std::size_t>(loop)]; }

  /// Extents of all dims below the loops above `place`.
  void extents(std::vector<std::int64_t>& out) const;

  /// Was a tile of `access` below the loops above `place` renewed by the last advance, of `loop`?
  bool renewed(int access, int place, int loop) const;
  /// Is every loop in time above `place` that the access does not use at its first step?
  bool first(int access, int place) const;

 private:
  void settle(std::size_t from);

  const LoopTable* table_;
  std::size_t place_;
  std::vector<std::int64_t> at_, steps_, inside_;  ///< inside: extent of the loop's dim below it
  bool empty_ = false;
};

}  // namespace isamap
