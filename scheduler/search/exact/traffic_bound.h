// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lower bound of the traffic into the tiles of one level, for any loops outside.
//
// One of the loops outside a tile is innermost. Operands that use its dim reload at every step, once for every position
// of the dims they do not use; only the others can be stationary. So the least energy is the minimum over the dim of
// the innermost loop.
//
// With tails, instances and last tiles for which that loop has a single step keep their tile: at most a share `lone` of
// the elements.

#include "scheduler/cost/hierarchy/evaluate.h"

namespace isamap::hierarchy {

/// Loops on units: steps on each axis, and their product by level.
struct SpatialUnrolling {
  std::array<std::array<std::array<std::int64_t, max_dims>, max_axes>, max_levels> axis{};
  std::array<std::array<std::int64_t, max_dims>, max_levels> steps{};  ///< product over the axes
};

/// Energy, and bytes read and written by each instance of each level.
struct Load {
  double energy = 0;
  std::array<double, max_levels> read{}, written{};
};
Load operator+(Load a, const Load& b);

/// Decided tiles, innermost levels first.
struct Known {
  int level = 0;                            ///< outermost level with decided dims; inner levels are complete
  std::uint32_t decided = 0;                ///< dims decided there; others have at most `tile`
  const LevelPoint::Tiles* tile = nullptr;  ///< by level: at its stage (level 0: the extents)
  const LevelPoint::Tiles* unit = nullptr;  ///< by level: below its time loops
};

/// Bounds of one problem for one choice of kept operands and spatial unrolling.
class TrafficBound {
 public:
  TrafficBound(const Problem& problem, const std::array<std::uint32_t, max_levels>& keep, bool dividing, int buffers);
  void set(const SpatialUnrolling& unrolling);

  /// Lower bound of the traffic into the tiles `tile` at `level`; dims not in `decided` may have smaller tiles
  /// (`loose`: any with as many steps).
  Load into(int level, const LevelPoint::Tiles& tile, std::uint32_t decided, bool loose = false) const;
  /// The same with all tiles decided inside of `level`, and outside as far as `known`; `innermost`: dim of the
  /// innermost loop outside, -1: open.
  Load into(int level, const Known& known, int innermost = -1) const;
  /// Calls and their traffic at the innermost level: equal for all tiles.
  Load calls() const;
  /// Lower bound of the cycles of a load.
  double cycles(const Load& load) const;
  /// Bytes of these tiles at a level.
  double bytes(int level, const LevelPoint::Tiles& tile) const;
  BytesAlong bytes_along(int level, const LevelPoint::Tiles& tile, int dim) const;
  double room(int level) const { return problem_.levels[static_cast<std::size_t>(level)].capacity; }

 private:
  std::uint32_t doubled(int level) const { return buffers_ == 2 ? keep_[static_cast<std::size_t>(level)] : 0; }
  struct Chain {
    int operand, parent;
  };
  struct Counts {
    double shared_all = 1, own_all = 1;      ///< if the innermost loop renews the tile
    double shared_least = 1, own_least = 1;  ///< if the operand is stationary as long as possible
    double shared_free = 1, own_free = 1;    ///< if no loop renews it
    double free = 0;                         ///< further share of the elements that can stay resident
  };
  /// By dim: number of tiles; share whose innermost loop may have a single step.
  struct Along {
    std::array<double, max_dims> blocks, lone;
    std::uint32_t moving = 0;  ///< dims whose loop may be the innermost one outside
  };
  Along along(int level, const LevelPoint::Tiles& tile, std::uint32_t decided, bool loose) const;
  Load least_over(int level, const Along& along, const std::array<Counts, max_operands>& counts) const;
  const Problem& problem_;
  std::array<std::uint32_t, max_levels> keep_;
  bool dividing_;
  int buffers_;                                        ///< of each kept tile
  std::array<std::vector<Chain>, max_levels> chains_;  ///< by child level
  std::array<double, max_operands> elements_;          ///< distinct ones of each operand
  std::array<std::array<double, max_levels>, max_operands> read_cost_, write_cost_;
  std::array<std::array<double, max_dims>, max_levels + 1> instances_{};  ///< steps on units before a level, by dim
  std::array<std::array<double, max_dims>, max_levels + 1> active_{};     ///< lower bound of those with work
  std::array<double, max_levels> all_instances_{};
  std::array<std::array<double, max_levels>, max_levels> down_cost_{},
      up_cost_{};                           ///< pJ/B of the links between levels
  std::array<double, max_levels> first_{};  ///< first visits of the output
};

}  // namespace isamap::hierarchy
