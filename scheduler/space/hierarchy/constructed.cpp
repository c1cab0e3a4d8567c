// SPDX-License-Identifier: Apache-2.0
// Constructed starting points, without evaluations: fully used units, and one stationary operand at every memory, in
// the manner of constructive schedulers (Huang et al., "CoSA", ISCA 2021; Zhu et al., "ROLLER", OSDI 2022). Tiles grow
// by saved traffic, assuming that the stationary operand moves once and the others at every change of their tile.

#include <algorithm>
#include <set>

#include "scheduler/cost/hierarchy/evaluate.h"
#include "scheduler/space/hierarchy/genome.h"
#include "support/arithmetic.h"

namespace isamap::hierarchy {

namespace {

constexpr std::size_t max_assignments = 6, max_visited = 4096;

class GenomeConstructor {
 public:
  explicit GenomeConstructor(const Genomes& genomes) : genomes_(genomes), problem_(genomes.problem()) {
    for (int l = 0; l + 1 < problem_.level_count(); ++l)
      for (const Axis& axis : problem_.levels[at(l)].axes) axes_.push_back({l, axis.count});
  }

  std::vector<Genome> run(std::size_t count) {
    assign_units(genomes_.plain(), 0);
    std::stable_sort(assignments_.begin(), assignments_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (assignments_.size() > max_assignments) assignments_.resize(max_assignments);
    std::vector<std::pair<double, Genome>> made;
    for (const auto& [steps, genome] : assignments_)
      for (int inner = 0; inner < problem_.operand_count(); ++inner)
        for (int outer = 0; outer < problem_.operand_count(); ++outer) {
          if (problem_.level_count() == 2 && outer != inner) continue;
          Genome grown = genome;
          for (int l = problem_.level_count() - 1; l > 0; --l)
            grow(grown, l, l + 1 == problem_.level_count() ? inner : outer);
          grown = genomes_.repaired(grown);
          double energy = 0;
          for (int l = problem_.level_count() - 1; l > 0; --l)
            energy += traffic(grown, l, l + 1 == problem_.level_count() ? inner : outer);
          made.emplace_back(energy * steps, grown);
        }
    std::stable_sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Genome> best;
    for (const auto& [cost, genome] : made)
      if (best.size() < count && std::find(best.begin(), best.end(), genome) == best.end()) best.push_back(genome);
    return best;
  }

 private:
  struct AxisAt {
    int level;
    std::int64_t count;
  };

  std::int64_t left(const Genome& genome, int d) const {
    std::int64_t left = problem_.dims[at(d)].extent;
    for (const Genome::At& level : genome.levels) left = ceil_div(left, std::max<std::int64_t>(1, level.units[at(d)]));
    return left;
  }

  /// Steps on an axis: the fewest that need the fewest passes.
  std::int64_t steps_on(std::int64_t extent, std::int64_t count) const {
    std::int64_t steps = std::min(extent, count);
    if (!genomes_.options().dividing) return ceil_div(extent, ceil_div(extent, steps));
    while (extent % steps != 0) --steps;
    return steps;
  }

  /// Each axis gets a dim, or nothing; remaining instances go to the longest other dims.
  void assign_units(Genome genome, std::size_t a) {
    if (assignments_.size() >= max_visited) return;
    if (a == axes_.size()) {
      double steps = 1;
      for (int d = 0; d < problem_.dim_count(); ++d) steps *= static_cast<double>(left(genome, d));
      if (std::none_of(assignments_.begin(), assignments_.end(), [&](const auto& s) { return s.second == genome; }))
        assignments_.emplace_back(steps, genome);
      return;
    }
    bool any = false;
    for (int d = 0; d < problem_.dim_count(); ++d) {
      auto& own = genome.levels[at(axes_[a].level)].units;
      if (own[at(d)] > 1 || left(genome, d) == 1) continue;
      any = true;
      Genome next = genome;
      fill(next, a, d);
      assign_units(next, a + 1);
    }
    if (!any) assign_units(genome, a + 1);
  }

  void fill(Genome& genome, std::size_t a, int first) const {
    auto& units = genome.levels[at(axes_[a].level)].units;
    std::int64_t room = axes_[a].count;
    for (int d = first; d >= 0 && room > 1;) {
      const std::int64_t steps = steps_on(left(genome, d), room);
      units[at(d)] = steps;
      room /= steps;
      d = -1;
      for (int e = 0; e < problem_.dim_count(); ++e)
        if (units[at(e)] == 1 && left(genome, e) > 1 && (d < 0 || left(genome, e) > left(genome, d))) d = e;
      if (d >= 0 && steps_on(left(genome, d), room) == 1) break;
    }
  }

  /// Energy of moving operands into a level: the stationary one once, all others at every change of their tile.
  double traffic(const Genome& genome, int level, int stationary) const {
    double energy = 0;
    for (int a = 0; a < problem_.operand_count(); ++a) {
      const Operand& operand = problem_.operands[at(a)];
      double elements = operand.bytes;
      for (int d = 0; d < problem_.dim_count(); ++d) {
        const auto extent = static_cast<double>(problem_.dims[at(d)].extent);
        if (operand.uses(d))
          elements *= extent;
        else if (a != stationary)
          elements *=
              static_cast<double>(ceil_div(problem_.dims[at(d)].extent, genomes_.tile(genome, level, d) *
                                                                            genome.levels[at(level - 1)].units[at(d)]));
      }
      const Level& parent = problem_.levels[at(level - 1)];
      energy += elements * (1e-6 + parent.read_energy / parent.word + (a == 0 ? parent.write_energy / parent.word : 0));
    }
    return energy;
  }

  /// Grows the tiles of one level greedily by traffic saved per byte.
  void grow(Genome& genome, int level, int stationary) const {
    auto& time = genome.levels[at(level)].time;
    while (true) {
      const double before = traffic(genome, level, stationary), room = bytes(genome, level);
      int best = -1;
      std::int64_t grown = 0;
      double most = 0;
      for (int d = 0; d < problem_.dim_count(); ++d) {
        const std::int64_t n = time[at(d)], larger = next(genome, level, d);
        if (larger == n) continue;
        time[at(d)] = larger;
        const double saved = (before - traffic(genome, level, stationary)) / std::max(1.0, bytes(genome, level) - room);
        time[at(d)] = n;
        if (saved > most) most = saved, best = d, grown = larger;
      }
      if (best < 0) break;
      time[at(best)] = grown;
    }
    int place = 0;  // loops of the stationary operand are outermost
    for (const bool own : {true, false})
      for (int d = 0; d < problem_.dim_count(); ++d)
        if (problem_.operands[at(stationary)].uses(d) == own)
          genome.levels[at(level - 1)].place[at(d)] = static_cast<std::uint8_t>(place++);
  }

  double bytes(const Genome& genome, int level) const {
    LevelPoint::Tiles tiles;
    for (int d = 0; d < problem_.dim_count(); ++d) tiles[at(d)] = genomes_.tile(genome, level, d);
    return bytes_of(problem_, genome.levels[at(level)].keep, genome.levels[at(level)].doubled, tiles);
  }

  /// About twice as many steps, or as many as fit.
  std::int64_t next(const Genome& genome, int level, int d) const {
    const std::int64_t n = genome.levels[at(level)].time[at(d)];
    Genome one = genome;
    one.levels[at(level)].time[at(d)] = 1;
    const std::int64_t unit = genomes_.tile(one, level, d);
    std::int64_t outside = 1;
    for (int l = 0; l < level; ++l) outside *= genome.levels[at(l)].units[at(d)];
    const std::int64_t limit = ceil_div(problem_.dims[at(d)].extent, unit * outside);
    std::int64_t most = std::min({2 * n, limit, genomes_.largest_tile_that_fits(genome, level, d) / unit});
    while (genomes_.options().dividing && most > n && problem_.dims[at(d)].extent % (unit * outside * most) != 0)
      --most;
    if (genomes_.options().dividing && most <= n)  // the next divisor may be far away
      for (std::int64_t m = 2 * n; m <= limit; ++m)
        if (problem_.dims[at(d)].extent % (unit * outside * m) == 0)
          return m * unit <= genomes_.largest_tile_that_fits(genome, level, d) ? m : n;
    return std::max(n, most);
  }

  const Genomes& genomes_;
  const Problem& problem_;
  std::vector<AxisAt> axes_;
  std::vector<std::pair<double, Genome>> assignments_;
};

}  // namespace

std::vector<Genome> constructed(const Genomes& genomes, std::size_t count) {
  return GenomeConstructor(genomes).run(count);
}

}  // namespace isamap::hierarchy
