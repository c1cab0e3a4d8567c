// SPDX-License-Identifier: Apache-2.0
#pragma once
// A levelled point as steps instead of tiles: any numbers are a point after repair, which is why heuristics change
// these.

#include "isamap/search.h"
#include "scheduler/cost/hierarchy/point.h"

namespace isamap {
class Random;
}

namespace isamap::hierarchy {

/// At level l: steps of each loop in time (the outermost level takes what is left), steps on units towards the next
/// level, place of each loop (0: outermost), what is kept and doubled.
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

/// Where a dim has steps that a search chooses, from the inside: time at the innermost level, units before it, time ...
struct Slot {
  int level = 0;
  bool units = false;
};

class Genomes {
 public:
  Genomes(const Problem& problem, const SpaceOptions& options);
  const Problem& problem() const { return *problem_; }
  const SpaceOptions& options() const { return options_; }

  Genome plain() const;  ///< one step everywhere inside, everything kept once
  LevelPoint point(const Genome& genome) const;
  Genome of(const LevelPoint& point) const;  ///< tiles are multiples of the ones inside them
  /// A dim lies on one axis of a level, steps cover no more than there is, tiles fit (where any do), orders are
  /// canonical. What is too large shrinks: the longest loops of the level first, then what stands inside.
  Genome repaired(Genome genome) const;

  const std::vector<Slot>& slots() const { return slots_; }
  /// Steps that a loop of the dim may have: all up to 64 and those that change how many tiles there are.
  const std::vector<std::int64_t>& values(int dim) const { return values_[at(dim)]; }
  std::int64_t most_units(int level) const;  ///< longest axis
  std::uint32_t may_pass(int level) const;   ///< operands that may be kept or not
  bool chooses_buffers() const { return !options_.single_buffered && !options_.double_buffered; }
  std::int64_t outermost(const Genome& genome, int d) const;  ///< steps of the loop that takes what is left
  static std::int64_t& steps(Genome& genome, Slot slot, int d) {
    auto& level = genome.levels[at(slot.level)];
    return slot.units ? level.units[at(d)] : level.time[at(d)];
  }
  static std::int64_t steps(const Genome& genome, Slot slot, int d) {
    const auto& level = genome.levels[at(slot.level)];
    return slot.units ? level.units[at(d)] : level.time[at(d)];
  }
  /// Largest tile of `d` at a level that has room when the other dims have their tiles of the genome; 0: none has.
  std::int64_t room_for(const Genome& genome, int level, int d) const;
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

/// Steps drawn evenly on a logarithmic scale, orders evenly.
Genome drawn(const Genomes& genomes, Random& random);
/// One change: a factor moves from one loop to another of its dim, a loop gets more or fewer steps, stands elsewhere,
/// two dims exchange units, an operand is kept or passed by, gets another buffer.
Genome changed(const Genomes& genomes, Genome genome, Random& random);
/// All changes of that kind by the smallest amount, and factors as a whole.
std::vector<Genome> around(const Genomes& genomes, const Genome& genome);
/// Constructed ones, the most promising first: units in full use; at every level an operand that is to stay, its loops
/// outermost, and tiles grown where that saves most of the others' traffic.
std::vector<Genome> constructed(const Genomes& genomes, std::size_t count);

}  // namespace isamap::hierarchy
