// SPDX-License-Identifier: Apache-2.0
#pragma once
// What must at least be moved into the tiles of one level, whatever the loops outside are.
//
// Of the loops outside a tile one is innermost. An operand that uses its dim gets a new tile at every step, so it is
// moved once for every position of the dims that it does not use; only the others may be stationary. So the least
// energy is the minimum over the dim of the innermost loop, of which there are few.
//
// Where tiles do not divide, instances and last tiles for which that loop has a single step keep their tile: at most a
// share `lone` of the dim's elements.

#include "scheduler/cost/hierarchy/evaluate.h"

namespace isamap::hierarchy {

/// Loops on units: steps on each axis, and their product by level.
struct SpatialUnrolling {
  std::array<std::array<std::array<std::int16_t, max_dims>, max_axes>, max_levels> axis{};
  std::array<std::array<std::int64_t, max_dims>, max_levels> steps{};  ///< product over the axes
};

/// Energy, and bytes that each level reads and writes in each instance.
struct Load {
  double energy = 0;
  std::array<double, max_levels> read{}, written{};
};
Load operator+(Load a, const Load& b);

/// Tiles that are decided, from the inside.
struct Known {
  int level = 0;                            ///< outermost level with tiles; all further inside are decided
  std::uint32_t decided = 0;                ///< dims that are decided there; others have at most `tile`
  const LevelPoint::Tiles* tile = nullptr;  ///< by level: at its stage (level 0: the extents)
  const LevelPoint::Tiles* unit = nullptr;  ///< by level: below its loops in time
};

/// Constants of one problem under one choice of what is kept and of loops on units.
class TrafficBound {
 public:
  TrafficBound(const Problem& problem, const std::array<std::uint32_t, max_levels>& keep, bool dividing, int buffers);
  void set(const SpatialUnrolling& spread);

  /// At least what moves into the tiles at `level` when those are `tile`; dims that are not in `decided` may have
  /// smaller ones (`loose`: any with as many steps).
  Load into(int level, const LevelPoint::Tiles& tile, std::uint32_t decided, bool loose = false) const;
  /// The same for a level inside of which, and outside of which as far as `known`, all tiles are decided; `innermost`
  /// is the dim of the innermost loop outside, where it is decided (else -1).
  Load into(int level, const Known& known, int innermost = -1) const;
  /// Calls, and what they take from and give to the innermost level: the same for all tiles.
  Load calls() const;
  /// Cycles that a load takes at the least.
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
    double shared_all = 1, own_all = 1;      ///< where the innermost loop renews the tile
    double shared_least = 1, own_least = 1;  ///< where the operand stays as long as it can
    double shared_free = 1, own_free = 1;    ///< where no loop renews it
    double free = 0;                         ///< share of the elements that may stay, beyond `least`
  };
  /// Along one dim: tiles; share of it whose innermost loop may have a single step.
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
  std::array<std::array<double, max_dims>, max_levels + 1> active_{};     ///< how many of these have work at the least
  std::array<double, max_levels> all_instances_{};
  std::array<std::array<double, max_levels>, max_levels> down_cost_{},
      up_cost_{};                           ///< pJ/B of the links between levels
  std::array<double, max_levels> first_{};  ///< first visits of the output
};

}  // namespace isamap::hierarchy
