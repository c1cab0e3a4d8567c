// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access counts: how often a tile is replaced and how many elements that moves. Exact, also for tails.
//
// A buffer holds one tile, named by the position of those loops above it that its tensor uses, and is refilled when the
// name changes (rule R2 of docs/schedule.md). Executing the nest would count that in time proportional to the nest.
// Instead: all visits minus the visits at which nothing changed. Let loop j be the one that advanced (time loops inside
// it restart): nothing changed iff the tensor does not use j and each loop inside j that it does use has a single step.
// Given j the dims are independent, and the chain of tiles of a dim has at most one full and one tail size per loop: so
// sums of products over very short lists.
//
// Sliding windows (p + r): when a loop of the window advances alone, only the new elements move.

#include <array>
#include <boost/container/small_vector.hpp>
#include <span>
#include <vector>

#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// Numbers of elements are kept as doubles: exact below 2^53, and no overflow for hostile sizes.
class TileCounts {
 public:
  explicit TileCounts(const ResolvedNest& view);

  /// Loops on units that the tensor does not use: each instance has its own copy, or instances below the first
  /// `shared_from` loops receive the same words at once (multicast).
  struct Sharing {
    int shared_from = 1 << 20;
    bool one_instance = false;  ///< only the first instance of every unit
    bool operator==(const Sharing&) const = default;
  };

  /// Elements of access `access` moved into (an output: out of) tiles below the first `loops` loops, over all
  /// instances.
  double moved(int access, int loops, Sharing sharing, bool slide) const;
  /// Elements touched below the first `loops` loops when nothing is kept from step to step; of an input without those
  /// that strides pass over.
  double touched(int access, int loops, Sharing sharing) const;
  /// Elements at their first visit: each once in every copy of the loops on units it does not use.
  double first_visits(int access, int loops) const;
  /// How often a tile is replaced, over all instances.
  double refills(int access, int loops) const;

  /// Elements of one full tile.
  double tile(int access, int loops) const { return tile_[at(access, loops)]; }
  /// Extent of each dim below the first `loops` loops: full tiles.
  std::span<const std::int64_t> extents(int loops) const {
    return {tiles_.data() + static_cast<std::size_t>(loops) * dims_, dims_};
  }
  /// The same with each dim rounded up to what calls fill, and to whole blocks of the digits of a stage's layout;
  /// nullptr: it has none.
  double padded_tile(int access, int loops, const DigitsByDim* layout = nullptr) const;
  /// Registers of one tile: one for each block of each dim.
  double slots(int access, int loops) const;
  /// Steps of all instances together below the first `loops` loops.
  double visits(int loops) const;
  /// Calls in the emitted code: a body for each combination of full and tail tiles; unrolled loops repeat theirs.
  double code_calls() const;
  struct Size {
    std::int64_t extent = 0;
    double count = 0;
  };
  using Sizes = boost::container::small_vector<Size, 4>;
  /// Extents of all tiles along a dim below the first `loops` loops: n loops give at most n + 1 of them.
  const Sizes& tiles_along(int dim, int loops) const {
    return all_[all_below_[static_cast<std::size_t>(loops) * dims_ + static_cast<std::size_t>(dim)]].sizes;
  }
  /// Steps of the busiest instance below the first `loops` loops (units give their first instance).
  double steps(int loops) const;
  std::int64_t trip(int loop) const { return trips_[static_cast<std::size_t>(loop)]; }
  /// Sum of `of(extent)` over the innermost tiles along a dim, of all instances.
  template <class F>
  double sum_along(int dim, F&& of) const {
    double sum = 0;
    const int loops = static_cast<int>(trips_.size());
    for (const Size& s : tiles_along(dim, loops)) sum += s.count * of(s.extent);
    return sum;
  }
  bool uses_loop(int access, int loop) const { return uses_dim(access, dim_of(loop)); }
  bool uses_dim(int access, int dim) const { return facts(access).uses[static_cast<std::size_t>(dim)]; }

  using Group = FootprintGroup;
  /// A sliding window that advanced: by how much, and the extent of the dim in the tile before (always a full one).
  struct Step {
    int dim = -1;
    std::int64_t shift = 0, before = 0;
  };

  /// Subscripts as the buffers of the access hold them: `10*p` as p where their layouts are by p, and each point of a
  /// window where they replicate it.
  const std::vector<Group>& groups(int access) const {
    const auto& held = held_[static_cast<std::size_t>(access)];
    return held && !held->replicated.empty() ? held->replicated : boxes(access);
  }
  /// Footprint of a tile: subscripts that share dims are counted together. `extents`: of the dims of the group.
  double footprint(const Group& group, std::span<const std::int64_t> extents, const Step* step) const;
  /// Does a tile below the first `loops` loops load only new elements when this loop advances alone?
  bool slides(int access, int loops, int loop) const;

 private:
  /// All steps; the first; all but the first; the only one of an instance.
  enum class Mode : std::uint8_t { free, first, later, single };
  static constexpr std::size_t expected_steps = 24;  ///< different ones in most nests
  static constexpr int place_bits = 6;               ///< of the table that finds them: room for more than these
  /// By loop.
  struct Modes {
    explicit Modes(int loops) : of(static_cast<std::size_t>(loops), Mode::free) {}
    Mode operator[](int loop) const { return of[static_cast<std::size_t>(loop)]; }
    void set(int loop, Mode mode) {
      of[static_cast<std::size_t>(loop)] = mode;
      all = all && mode == Mode::free;
    }
    boost::container::small_vector<Mode, 24> of;
    bool all = true;  ///< steps of all loops
  };
  using Extents = boost::container::small_vector<std::int64_t, 8>;
  /// Steps along one dim: sizes of its innermost tiles, for the modes of its loops.
  struct DimSteps {
    Sizes sizes;
    double count = 0, points = 0;  ///< of all sizes: tiles, and their extents
    void add_up() {
      for (const Size& s : sizes) count += s.count, points += s.count * static_cast<double>(s.extent);
    }
  };
  const AccessFacts& facts(int access) const { return view_.facts->accesses[static_cast<std::size_t>(access)]; }
  int dim_of(int loop) const { return view_.loops[static_cast<std::size_t>(loop)].dim; }
  bool in_time(int loop) const { return !view_.loops[static_cast<std::size_t>(loop)].unit.valid(); }
  std::uint64_t key_of(int dim, int loops, const Modes& modes) const;
  std::size_t number_of_steps(int dim, int loops, const Modes& modes) const;
  std::size_t number_of_some_steps(int dim, int loops, const Modes& modes) const;
  const DimSteps& steps_of(std::size_t number) const {
    return number < all_.size() ? all_[number] : steps_[number - all_.size()];
  }
  const DimSteps& steps_along(int dim, int loops, const Modes& modes) const {
    return steps_of(number_of_steps(dim, loops, modes));
  }
  Sizes sizes(int dim, int loops, const Modes& modes) const;
  Sizes lone_sizes(int dim, int from, int loops, const Modes& modes, const Size& outer) const;
  /// Tiles, their elements, or their elements without those that strides pass over.
  enum class Of : std::uint8_t { tiles, elements, touched };
  double sum(int access, int loops, const Modes& modes, const Step* step, Of of) const;
  class Sums;
  double group_sum(const Group& group, int loops, const Modes& modes, const Step* step, Of of) const;
  double measure(const Group& group, std::span<const std::int64_t> extents, const Step* step, Of of) const;
  std::shared_ptr<const HeldGroups> held_groups(int access) const;
  double points(int loops, const Modes& modes) const;
  Modes modes_at(int access, int loops, Sharing sharing) const;
  Modes advanced(int access, int loops, int loop, const Modes& base) const;
  bool is_shared(int access, int loops, Sharing sharing) const;
  int outermost_kept(int access, int loops) const;
  std::vector<bool> repeated_loops() const;
  void add_all_steps();
  void add_full_tiles(int access);

  double count_padded(int access, int loops, const DigitsByDim* layout) const;
  double count_moved(int access, int loops, Sharing sharing, bool slide) const;
  double count_refills(int access, int loops) const;
  std::size_t at(int access, int loops) const {
    return static_cast<std::size_t>(access) * (trips_.size() + 1) + static_cast<std::size_t>(loops);
  }

  /// The same without what layouts replicate.
  const std::vector<Group>& boxes(int access) const {
    const auto& held = held_[static_cast<std::size_t>(access)];
    return held && !held->held.empty() ? held->held : facts(access).groups;
  }

  const ResolvedNest& view_;
  std::vector<std::shared_ptr<const HeldGroups>> held_;  ///< by access; nullptr: as in the facts
  std::size_t dims_ = 0;
  std::vector<std::int64_t> trips_;
  std::vector<DimSteps> all_;             ///< all steps along whole dims, then below each loop along its dim
  std::vector<std::uint32_t> all_below_;  ///< by loops above and dim: which of these
  std::vector<bool> repeats_;             ///< by loop: each instance executes several steps whenever it is entered
  boost::container::small_vector<boost::container::small_vector<int, 6>, 6> loops_of_;  ///< by dim, outermost first
  std::vector<std::int64_t> tiles_;                                                     ///< by loops above and dim
  std::vector<double> tile_;  ///< by access and loops above: elements of a full tile
  // Counts are asked for the same tiles by caches, ports and capacities, and steps along a dim for the same modes.
  struct Counted {
    double moved = -1, slid = -1, refills = -1;  ///< -1: not counted yet
  };
  struct Padded {
    int access = 0, loops = 0;
    const DigitsByDim* layout = nullptr;  ///< in the facts of a stage
    double elements = 0;
  };
  mutable boost::container::small_vector<Padded, 8> padded_;
  mutable std::vector<Counted> counted_;                                        ///< like `tile_`
  mutable boost::container::small_vector<std::uint64_t, expected_steps> keys_;  ///< of `steps_`: dim and modes
  mutable std::vector<DimSteps> steps_;
  mutable std::array<std::uint32_t, 1 << place_bits> places_{};  ///< where in `keys_` a key was found last, by its hash
};

}  // namespace isamap
