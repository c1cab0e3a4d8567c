// SPDX-License-Identifier: Apache-2.0
#pragma once
// How often a tile is replaced, and how many elements that moves: exact, also where tiles do not divide.
//
// A buffer holds one named tile; its name is the position of the loops above it that its tensor uses. It is refilled
// when the name changes (rule R2 of docs/schedule.md). Looping the nest step by step would count that but takes as long
// as the nest. Instead: the number of all visits minus the visits at which nothing changed. Loop j is the one that
// advanced (all time loops inside it begin anew); nothing changed iff the tensor does not use j and every loop inside
// j that it does use has a single step there. Given j the dims are independent of each other, and a dim's chain of
// tiles has at most one full and one short size for each loop: so sums of products over very short lists.
//
// Windows (p + r): a tile that slides moves, when a loop of the window advances alone, only what is new.

#include <vector>

#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// Numbers of elements are kept as doubles: exact below 2^53, and no overflow for hostile sizes.
class TileCounts {
 public:
  explicit TileCounts(const ResolvedNest& view);

  /// What to do with loops on units that the tensor does not use: every instance has its own copy (`each`), or the
  /// instances below the first `shared_from` loops get the same words at once.
  struct Sharing {
    int shared_from = 1 << 20;
    bool one_instance = false;  ///< only the first instance of every unit
  };

  /// Elements of access `access` moved into (an output: out of) tiles below the first `loops` loops, over all
  /// instances.
  double moved(int access, int loops, Sharing sharing, bool slide) const;
  /// Elements touched below the first `loops` loops when nothing is kept from step to step.
  double touched(int access, int loops, Sharing sharing) const;
  /// Elements that instances meet for the first time: each once in every copy of the loops on units it does not use.
  double first_visits(int access, int loops) const;
  /// How often a tile is replaced, over all instances.
  double refills(int access, int loops) const;

  /// Elements of one full tile.
  double tile(int access, int loops) const;
  /// The same with each run over digit rounded up to what a call covers, as buffers are laid out.
  double padded_tile(int access, int loops) const;
  /// Registers of one tile: one for each block of each dim.
  double slots(int access, int loops) const;
  /// Steps of all instances together below the first `loops` loops.
  double visits(int loops) const;
  /// How many different bodies code for the nest needs, one for each combination of full and short tiles, counted in
  /// calls: unrolled loops repeat theirs.
  double code_calls() const;
  /// Steps of the busiest instance below the first `loops` loops (units give their first instance).
  double steps(int loops) const;
  std::int64_t trip(int loop) const { return trips_[static_cast<std::size_t>(loop)]; }
  bool uses_loop(int access, int loop) const {
    return uses_[static_cast<std::size_t>(access)][static_cast<std::size_t>(dim_of(loop))];
  }
  bool uses_dim(int access, int dim) const {
    return uses_[static_cast<std::size_t>(access)][static_cast<std::size_t>(dim)];
  }

  /// How many elements a tile has: subscripts that share dims are taken together.
  /// One subscript: linear in dims (|coefficient|), or any quasi-affine expression.
  struct Axis {
    std::vector<std::pair<int, std::int64_t>> terms;
    bool linear = true;
    AffineExpr expr;
  };
  /// Axes and dims of an access that hang together: its footprint is the product over groups.
  struct Group {
    std::vector<int> dims;
    std::vector<Axis> axes;
    bool linear = true;
  };
  /// A window that advanced: by how much, and the dim's extent in the tile before (always a full one).
  struct Step {
    int dim = -1;
    std::int64_t shift = 0, before = 0;
  };

  const std::vector<Group>& groups(int access) const { return groups_[static_cast<std::size_t>(access)]; }
  double footprint(const Group& group, const std::vector<std::int64_t>& extents, const Step* step) const;
  /// Does a tile below the first `loops` loops move only what is new when this loop advances alone?
  bool slides(int access, int loops, int loop) const;

 private:
  enum class Mode {
    free,
    first,
    later,
    single
  };  ///< all steps; the first; all but the first; the only one of an instance
  using Modes = std::vector<Mode>;
  struct Size {
    std::int64_t extent = 0;
    double count = 0;
  };
  using Sizes = std::vector<Size>;
  int dim_of(int loop) const { return view_.loops[static_cast<std::size_t>(loop)].dim; }
  bool in_time(int loop) const { return !view_.loops[static_cast<std::size_t>(loop)].unit.valid(); }
  Sizes sizes(int dim, int loops, const Modes& modes) const;
  Sizes lone_sizes(int dim, int from, int loops, const Modes& modes, const Size& outer) const;
  double sum(int access, int loops, const Modes& modes, const Step* step, bool elements) const;
  std::int64_t room_for(int access, int dim) const;
  double group_sum(const Group& group, std::vector<Sizes> sizes, const Step* step, bool elements) const;
  double points(int loops, const Modes& modes) const;
  Modes modes_at(int access, int loops, Sharing sharing) const;
  Modes advanced(int access, int loops, int loop, const Modes& base) const;

  const ResolvedNest& view_;
  std::vector<std::int64_t> trips_;
  std::vector<std::vector<bool>> uses_;
  std::vector<std::vector<Group>> groups_;
};

}  // namespace isamap
