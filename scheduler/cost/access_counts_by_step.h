// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access counts of a single refill, over all instances of its memory: the rules of docs/cost.md, step by step. The
// closed form (scheduler/cost/access_counts.h) is the sum of this over all steps.
//
// Along one dim instances differ only in their share of the tail, so they are kept in a few classes of equal extent;
// instances without work are dropped.

#include "scheduler/cost/loop_position.h"

namespace isamap {

struct VisitMoved {
  double own = 0;     ///< elements into (an output: out of) the tiles of all instances
  double shared = 0;  ///< at the parents: multicast to several instances is read once
  double lane = 0;    ///< of the first instance
};

/// Tiles of `access` below the first `loops` loops, filled from tiles below `parent_loops`.
struct VisitedTile {
  int access = 0, loops = 0, parent_loops = 0;
  bool slide = false;   ///< a sliding window loads only new elements
  int block = 1 << 20;  ///< time loops from this one on are one visit: calls are counted a block at a time
};

class VisitCounts {
 public:
  /// Access counts of one tile, step by step.
  VisitCounts(const ResolvedNest& view, const LoopTable& table, const TileCounts& counts, const VisitedTile& tile);

  /// `advanced`: the time loop that led to this position, -1 at the start.
  VisitMoved at(const LoopPosition& position, int advanced) const;

 private:
  struct Part {
    std::int64_t extent = 0;
    std::int64_t other = 0;  ///< largest extent at other steps of the loops inside the one that advanced; 0: none
    double own = 0, shared = 0;
  };
  struct DimParts {
    std::vector<Part> parts;
    std::int64_t lane = 0;
    bool lane_single = true;
  };

  void distribute(const Part& part, std::int64_t tile, bool once) const;
  void keep(const Part& part) const;
  void divide(int dim, const LoopPosition& position, int advanced, DimParts& out) const;
  double sum(const TileCounts::Group& group, bool single_only, const TileCounts::Step* step) const;
  double lane(const TileCounts::Group& group, const TileCounts::Step* step) const;

  const LoopTable& table_;
  const TileCounts& counts_;
  int access_, loops_, parent_loops_, block_;
  std::vector<char> slides_;             ///< by loop
  std::vector<std::int64_t> full_;       ///< by dim: extent of a full tile
  std::vector<std::vector<int>> chain_;  ///< by dim: its loops above the stage
  mutable std::vector<DimParts> dims_;
  mutable std::vector<Part> next_;
  mutable std::vector<std::int64_t> extents_;
};

}  // namespace isamap
