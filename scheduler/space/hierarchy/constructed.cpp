// SPDX-License-Identifier: Apache-2.0
// Points to begin with, made without pricing any: units in full use, and at every memory one operand that stays. The
// idea is that of constructive schedulers (Huang et al., "CoSA", ISCA 2021; Zhu et al., "ROLLER", OSDI 2022); what
// tiles save is the traffic of the access model under the assumption that the chosen operand stays and the others do
// not.

#include <algorithm>
#include <set>

#include "scheduler/cost/hierarchy/evaluate.h"
#include "scheduler/space/hierarchy/genome.h"
#include "support/arithmetic.h"

namespace isamap::hierarchy {

namespace {

constexpr std::size_t most_spreads = 6, most_looped = 4096;

class Constructing {
 public:
  explicit Constructing(const Genomes& genomes) : genomes_(genomes), problem_(genomes.problem()) {
    for (int l = 0; l + 1 < problem_.level_count(); ++l)
      for (const Axis& axis : problem_.levels[at(l)].axes) axes_.push_back({l, axis.count});
  }

  std::vector<Genome> run(std::size_t count) {
    spread(genomes_.plain(), 0);
    std::stable_sort(spreads_.begin(), spreads_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (spreads_.size() > most_spreads) spreads_.resize(most_spreads);
    std::vector<std::pair<double, Genome>> made;
    for (const auto& [steps, genome] : spreads_)
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

  /// Steps on an axis: as few rounds as can be, and no more steps than these need.
  std::int64_t steps_on(std::int64_t extent, std::int64_t count) const {
    std::int64_t steps = std::min(extent, count);
    if (!genomes_.options().dividing) return ceil_div(extent, ceil_div(extent, steps));
    while (extent % steps != 0) --steps;
    return steps;
  }

  /// Each axis gets a dim, or nothing; what room it leaves goes to the longest other ones.
  void spread(Genome genome, std::size_t a) {
    if (spreads_.size() >= most_looped) return;
    if (a == axes_.size()) {
      double steps = 1;
      for (int d = 0; d < problem_.dim_count(); ++d) steps *= static_cast<double>(left(genome, d));
      if (std::none_of(spreads_.begin(), spreads_.end(), [&](const auto& s) { return s.second == genome; }))
        spreads_.emplace_back(steps, genome);
      return;
    }
    bool any = false;
    for (int d = 0; d < problem_.dim_count(); ++d) {
      auto& own = genome.levels[at(axes_[a].level)].units;
      if (own[at(d)] > 1 || left(genome, d) == 1) continue;
      any = true;
      Genome next = genome;
      fill(next, a, d);
      spread(next, a + 1);
    }
    if (!any) spread(genome, a + 1);
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

  /// Energy of moving operands into a level when `stays` is moved once and all others at every change of their tile.
  double traffic(const Genome& genome, int level, int stays) const {
    double energy = 0;
    for (int a = 0; a < problem_.operand_count(); ++a) {
      const Operand& operand = problem_.operands[at(a)];
      double elements = operand.bytes;
      for (int d = 0; d < problem_.dim_count(); ++d) {
        const auto extent = static_cast<double>(problem_.dims[at(d)].extent);
        if (operand.uses(d))
          elements *= extent;
        else if (a != stays)
          elements *=
              static_cast<double>(ceil_div(problem_.dims[at(d)].extent, genomes_.tile(genome, level, d) *
                                                                            genome.levels[at(level - 1)].units[at(d)]));
      }
      const Level& parent = problem_.levels[at(level - 1)];
      energy += elements * (1e-6 + parent.read_energy / parent.word + (a == 0 ? parent.write_energy / parent.word : 0));
    }
    return energy;
  }

  /// Tiles of one level: again and again the loop that saves most for the room it takes.
  void grow(Genome& genome, int level, int stays) const {
    auto& time = genome.levels[at(level)].time;
    while (true) {
      const double before = traffic(genome, level, stays), room = bytes(genome, level);
      int best = -1;
      std::int64_t grown = 0;
      double most = 0;
      for (int d = 0; d < problem_.dim_count(); ++d) {
        const std::int64_t n = time[at(d)], larger = next(genome, level, d);
        if (larger == n) continue;
        time[at(d)] = larger;
        const double saved = (before - traffic(genome, level, stays)) / std::max(1.0, bytes(genome, level) - room);
        time[at(d)] = n;
        if (saved > most) most = saved, best = d, grown = larger;
      }
      if (best < 0) break;
      time[at(best)] = grown;
    }
    int place = 0;  // loops of what stays are outermost
    for (const bool own : {true, false})
      for (int d = 0; d < problem_.dim_count(); ++d)
        if (problem_.operands[at(stays)].uses(d) == own)
          genome.levels[at(level - 1)].place[at(d)] = static_cast<std::uint8_t>(place++);
  }

  double bytes(const Genome& genome, int level) const {
    LevelPoint::Tiles tiles;
    for (int d = 0; d < problem_.dim_count(); ++d) tiles[at(d)] = genomes_.tile(genome, level, d);
    return bytes_of(problem_, genome.levels[at(level)].keep, genome.levels[at(level)].doubled, tiles);
  }

  /// About twice as many steps, or as many as there is room for.
  std::int64_t next(const Genome& genome, int level, int d) const {
    const std::int64_t n = genome.levels[at(level)].time[at(d)];
    Genome one = genome;
    one.levels[at(level)].time[at(d)] = 1;
    const std::int64_t unit = genomes_.tile(one, level, d);
    std::int64_t outside = 1;
    for (int l = 0; l < level; ++l) outside *= genome.levels[at(l)].units[at(d)];
    const std::int64_t limit = ceil_div(problem_.dims[at(d)].extent, unit * outside);
    std::int64_t most = std::min({2 * n, limit, genomes_.room_for(genome, level, d) / unit});
    while (genomes_.options().dividing && most > n && problem_.dims[at(d)].extent % (unit * outside * most) != 0)
      --most;
    if (genomes_.options().dividing && most <= n)  // the next divisor may be far
      for (std::int64_t m = 2 * n; m <= limit; ++m)
        if (problem_.dims[at(d)].extent % (unit * outside * m) == 0)
          return m * unit <= genomes_.room_for(genome, level, d) ? m : n;
    return std::max(n, most);
  }

  const Genomes& genomes_;
  const Problem& problem_;
  std::vector<AxisAt> axes_;
  std::vector<std::pair<double, Genome>> spreads_;
};

}  // namespace

std::vector<Genome> constructed(const Genomes& genomes, std::size_t count) { return Constructing(genomes).run(count); }

}  // namespace isamap::hierarchy
