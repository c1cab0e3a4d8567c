// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point of the per-memory form as steps instead of tiles: any numbers are a point after repair, which suits
// heuristics.

#include "isamap/search.h"
#include "scheduler/cost/hierarchy/point.h"

namespace isamap {
class Random;
}

namespace isamap::hierarchy {

/// At level l: steps of each time loop (the outermost level takes the rest), steps on units towards the next level,
/// position of each loop (0: outermost), tensors kept and double-buffered.
struct Genome {
  using Steps = std::array<std::int64_t, max_dims>;
  struct At {
    Steps time{}, units{};
    std::array<std::uint8_t, max_dims> place{};
    std::uint32_t keep = 0, doubled = 0;
    bool operator==(const At&) const = default;
  };
  std::array<At, max_levels> levels{};
  bool operator==(const Genome&) const = default;
};

/// Positions of the chosen steps of a dim, innermost first: time at the innermost level, units before it, time ...
struct Slot {
  int level = 0;
  bool units = false;
};

class Genomes {
 public:
  Genomes(const Problem& problem, const SpaceOptions& options);
  const Problem& problem() const { return *problem_; }
  const SpaceOptions& options() const { return options_; }

  Genome plain() const;  ///< one step inside, everything kept in one buffer
  LevelPoint point(const Genome& genome) const;
  Genome of(const LevelPoint& point) const;  ///< tiles are multiples of the ones inside them
  /// Repairs: a dim is on one axis of a level, steps cover no more than the extent, tiles fit (if any do), orders are
  /// canonical. What is too large shrinks: the longest loops of the level first, then inner ones.
  Genome repaired(Genome genome) const;

  const std::vector<Slot>& slots() const { return slots_; }
  /// Possible steps of a loop of the dim: all up to 64 and those that change the number of tiles.
  const std::vector<std::int64_t>& values(int dim) const { return values_[at(dim)]; }
  std::int64_t most_units(int level) const;   ///< longest axis
  std::uint32_t may_bypass(int level) const;  ///< operands that may bypass the level
  bool chooses_buffers() const { return !options_.single_buffered && !options_.double_buffered; }
  std::int64_t outermost(const Genome& genome, int d) const;  ///< steps of the outermost loop
  static std::int64_t& steps(Genome& genome, Slot slot, int d) {
    auto& level = genome.levels[at(slot.level)];
    return slot.units ? level.units[at(d)] : level.time[at(d)];
  }
  static std::int64_t steps(const Genome& genome, Slot slot, int d) {
    const auto& level = genome.levels[at(slot.level)];
    return slot.units ? level.units[at(d)] : level.time[at(d)];
  }
  /// Largest tile of `d` at a level that fits with the other tiles of the genome; 0: none.
  std::int64_t largest_tile_that_fits(const Genome& genome, int level, int d) const;
  std::int64_t tile(const Genome& genome, int level, int d) const;

 private:
  int dims() const { return problem_->dim_count(); }
  int last() const { return problem_->level_count() - 1; }
  std::int64_t extent(int d) const { return problem_->dims[at(d)].extent; }
  std::int64_t reduced(std::int64_t value, std::int64_t most) const;
  void clamp(Genome& genome) const;
  void pack(Genome& genome, int level) const;
  bool assign(const Genome& genome, int level, std::array<int, max_dims>& axis) const;
  void fit(Genome& genome, int level) const;
  const Problem* problem_;
  SpaceOptions options_;
  std::vector<Slot> slots_;
  std::vector<std::vector<std::int64_t>> values_;
};

/// Random steps, uniform on a logarithmic scale; random orders.
Genome drawn(const Genomes& genomes, Random& random);
/// One change: a factor moves between loops of a dim, a loop gets more or fewer steps or another position, two dims
/// exchange units, an operand is kept or bypassed, or its buffering changes.
Genome changed(const Genomes& genomes, Genome genome, Random& random);
/// All such changes by the smallest amount, and of whole factors.
std::vector<Genome> around(const Genomes& genomes, const Genome& genome);
/// Constructed genomes, the most promising first: fully used units; at every level a stationary operand with its loops
/// outermost, and tiles grown where that saves most traffic of the others.
std::vector<Genome> constructed(const Genomes& genomes, std::size_t count);

}  // namespace isamap::hierarchy
