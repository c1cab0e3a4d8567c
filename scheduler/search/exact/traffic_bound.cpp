// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/exact/traffic_bound.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace isamap::hierarchy {

namespace {

/// Distinct values of a sum of dims, one by one.
double enumerated(const Problem& problem, const Subscript& subscript) {
  std::vector<bool> seen(1, true);
  for (const Term& term : subscript) {
    const std::int64_t reach = term.coefficient * (problem.dims[at(term.dim)].extent - 1);
    std::vector<bool> next(seen.size() + static_cast<std::size_t>(reach), false);
    for (std::size_t v = 0; v < seen.size(); ++v)
      for (std::int64_t i = 0; seen[v] && i < problem.dims[at(term.dim)].extent; ++i)
        next[v + static_cast<std::size_t>(i * term.coefficient)] = true;
    seen = std::move(next);
  }
  return static_cast<double>(std::count(seen.begin(), seen.end(), true));
}

constexpr double most_enumerated = 1 << 24;  // bits of a table of 2 MiB; beyond them a bound from below does

/// Distinct values of a sum of dims, or fewer. In the order of the coefficients: while the values before are all
/// multiples of their step up to `reach`, the next term with c <= reach + step continues them, and one with c > reach
/// has no value twice.
double distinct(const Problem& problem, Subscript subscript) {
  std::sort(subscript.begin(), subscript.end(),
            [](const Term& a, const Term& b) { return a.coefficient < b.coefficient; });
  const double step = static_cast<double>(subscript.front().coefficient);
  double count = 1, reach = 0, longest = 1, all = 1;
  bool known = true, dense = true;
  for (const Term& term : subscript) {
    const auto c = static_cast<double>(term.coefficient), n = static_cast<double>(problem.dims[at(term.dim)].extent);
    longest = std::max(longest, n);
    all *= n;
    const bool continued = dense && std::fmod(c, step) == 0 && c <= reach + step;
    if (continued)
      count = (reach + c * (n - 1)) / step + 1;
    else if (c > reach)
      count *= n, dense = false;
    else
      known = false;
    reach += c * (n - 1);
  }
  if (known) return count;
  if (all > most_enumerated || reach > most_enumerated) return longest;
  return enumerated(problem, subscript);
}

}  // namespace

Load operator+(Load a, const Load& b) {
  a.energy += b.energy;
  for (std::size_t l = 0; l < a.read.size(); ++l) {
    a.read[l] += b.read[l];
    a.written[l] += b.written[l];
  }
  return a;
}

TrafficBound::TrafficBound(const Problem& problem, const std::array<std::uint32_t, max_levels>& keep, bool dividing,
                           int buffers)
    : problem_(problem), keep_(keep), dividing_(dividing), buffers_(buffers) {
  for (int inner = 1; inner < problem.level_count(); ++inner)
    for (int outer = inner - 1; outer >= 0; --outer) {
      const Level& level = problem.levels[at(outer)];
      down_cost_[at(outer)][at(inner)] =
          down_cost_[at(outer + 1)][at(inner)] + (level.down.link >= 0 ? level.down.energy : 0);
      up_cost_[at(outer)][at(inner)] = up_cost_[at(outer + 1)][at(inner)] + (level.up.link >= 0 ? level.up.energy : 0);
    }
  for (int a = 0; a < problem.operand_count(); ++a) {
    const Operand& operand = problem.operands[at(a)];
    elements_[at(a)] = 1;
    for (const Subscript& s : operand.subscripts) elements_[at(a)] *= distinct(problem, s);
    int parent = 0;
    for (int l = 0; l < problem.level_count(); ++l) {
      const Level& level = problem.levels[at(l)];
      read_cost_[at(a)][at(l)] = level.read_energy * operand.bytes / level.word;
      write_cost_[at(a)][at(l)] = level.write_energy * operand.bytes / level.word;
      if (l == 0 || (keep[at(l)] >> a & 1U) == 0) continue;
      chains_[at(l)].push_back({a, parent});
      parent = l;
    }
  }
}

void TrafficBound::set(const SpatialUnrolling& unrolling) {
  double all = 1;
  for (int d = 0; d < problem_.dim_count(); ++d) instances_[0][at(d)] = active_[0][at(d)] = 1;
  for (int l = 0; l < problem_.level_count(); ++l) {
    all_instances_[at(l)] = all;
    first_[at(l)] = problem_.inout ? 0 : elements_[0];
    for (int d = 0; d < problem_.dim_count(); ++d) {
      const auto steps = static_cast<double>(l + 1 < problem_.level_count() ? unrolling.steps[at(l)][at(d)] : 1);
      if (!problem_.inout && !problem_.operands[0].uses(d)) first_[at(l)] *= instances_[at(l)][at(d)];
      // Distributed at several levels: of the last outer instance only one inner instance may have work.
      const double before = instances_[at(l)][at(d)];
      instances_[at(l + 1)][at(d)] = before * steps;
      active_[at(l + 1)][at(d)] = before == 1 || steps == 1 || dividing_ ? std::max(active_[at(l)][at(d)], 1.0) * steps
                                                                         : 1 + steps * (active_[at(l)][at(d)] - 1);
      all *= steps;
    }
  }
}

Load TrafficBound::calls() const {
  Load load;
  double calls = 1;
  for (const Dimension& dim : problem_.dims) calls *= static_cast<double>(dim.extent);
  load.energy = calls * problem_.call_energy;
  for (int a = 0; a < problem_.operand_count(); ++a) {
    const int l = problem_.level_count() - 1;
    const double read = a == 0 ? std::max(0.0, calls - first_[at(l)]) : calls;
    const double size = problem_.operands[at(a)].bytes / all_instances_[at(l)];
    load.energy += read * read_cost_[at(a)][at(l)];
    load.read[at(l)] += read * size;
    if (a > 0) continue;
    load.energy += calls * write_cost_[0][at(l)];
    load.written[at(l)] += calls * size;
  }
  return load;
}

TrafficBound::Along TrafficBound::along(int level, const LevelPoint::Tiles& tile, std::uint32_t decided,
                                        bool loose) const {
  Along result;
  for (int d = 0; d < problem_.dim_count(); ++d) {
    const std::int64_t extent = problem_.dims[at(d)].extent, t = tile[at(d)];
    const auto units = static_cast<std::int64_t>(instances_[at(level)][at(d)]);
    const std::int64_t span = t * units;
    double& lone = result.lone[at(d)];
    result.blocks[at(d)] = static_cast<double>((extent + t - 1) / t);
    lone = 0;
    if (span >= extent) continue;
    result.moving |= 1U << d;
    if (dividing_) continue;
    const std::int64_t steps = (extent + span - 1) / span;
    const std::int64_t tail = extent - (steps - 1) * span, idle = span - tail;
    if ((decided >> d & 1U) != 0) {
      std::int64_t most = units > 1 ? idle : 0;
      if (steps > 2 && level > 1) most = std::max(most, tail);
      if (units > 1 && level > 2) most = span;
      lone = std::min(1.0, static_cast<double>(most) / static_cast<double>(extent));
    } else if (units > 1) {
      lone = 1.0 / static_cast<double>(std::max<std::int64_t>(steps - 1, loose ? 1 : 2));
      if (!loose) lone = std::max(lone, 2.0 * static_cast<double>(span) / static_cast<double>(extent) - 1);
    } else if (level > 1) {
      lone = 1.0 / static_cast<double>(std::max<std::int64_t>(steps, 3));
    }
  }
  return result;
}

Load TrafficBound::into(int level, const LevelPoint::Tiles& tile, std::uint32_t decided, bool loose) const {
  const Along dims = along(level, tile, decided, loose);
  std::array<Counts, max_operands> counts;
  const auto& chains = chains_[at(level)];
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const auto [a, parent] = chains[i];
    Counts& c = counts[i];
    for (int d = 0; d < problem_.dim_count(); ++d) {
      if (problem_.operands[at(a)].uses(d)) continue;
      const double outer = instances_[at(parent)][at(d)], inner = instances_[at(level)][at(d)];
      const double outer_least = active_[at(parent)][at(d)], inner_least = active_[at(level)][at(d)];
      c.shared_all *= std::max(outer_least, std::ceil(dims.blocks[at(d)] * outer / inner));
      c.own_all *= std::max(inner_least, dims.blocks[at(d)]);
      c.shared_free *= outer_least;
      c.own_free *= inner_least;
    }
    c.shared_least = c.shared_free;
    c.own_least = c.own_free;
  }
  return least_over(level, dims, counts);
}

/// Decided loops of the dims of an operand end its stationary run: loops outside of them count.
Load TrafficBound::into(int level, const Known& known, int innermost) const {
  const std::uint32_t all = (1U << problem_.dim_count()) - 1;
  Along dims = along(level, known.tile[level], all, false);
  std::array<std::uint32_t, max_levels> loops{};  // dims with a decided loop, by level
  for (int l = known.level; l < level; ++l)
    for (int d = 0; d < problem_.dim_count(); ++d)
      if ((l > known.level || (known.decided >> d & 1U) != 0) && known.tile[l][at(d)] > known.unit[l][at(d)])
        loops[at(l)] |= 1U << d;
  for (int l = level - 1; l >= known.level; --l)
    if (loops[at(l)] != 0) {  // the innermost loop is one of these, or an undecided one there
      dims.moving &= loops[at(l)] | (l == known.level ? all & ~known.decided : 0);
      break;
    }
  if (innermost >= 0) dims.moving &= 1U << innermost;
  std::array<Counts, max_operands> counts;
  const auto& chains = chains_[at(level)];
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const auto [a, parent] = chains[i];
    const Operand& operand = problem_.operands[at(a)];
    int stop = level - 1;
    while (stop >= known.level && (loops[at(stop)] & operand.dims) == 0) --stop;
    Counts& c = counts[i];
    for (int d = 0; d < problem_.dim_count(); ++d) {
      if (operand.uses(d)) continue;
      const double outer = instances_[at(parent)][at(d)], inner = instances_[at(level)][at(d)];
      const double outer_least = active_[at(parent)][at(d)], inner_least = active_[at(level)][at(d)];
      double shared = outer_least, own = inner_least;
      if (stop >= std::max(known.level, 1)) {
        const std::int64_t extent = problem_.dims[at(d)].extent, t = known.tile[stop][at(d)];
        const auto blocks = static_cast<double>((extent + t - 1) / t);
        const double there = instances_[at(stop)][at(d)];
        own = std::max(own, (blocks - 1) * (inner / there) + 1);
        shared =
            std::max(shared, parent <= stop ? std::ceil(blocks * outer / there) : (blocks - 1) * (outer / there) + 1);
      }
      c.shared_all *= std::max(outer_least, std::ceil(dims.blocks[at(d)] * outer / inner));
      c.own_all *= std::max(inner_least, dims.blocks[at(d)]);
      c.shared_least *= shared;
      c.own_least *= own;
      c.shared_free *= outer_least;
      c.own_free *= inner_least;
    }
    if (stop >= known.level && !dividing_) {  // such loops are free where all of them have a single step
      c.free = 1;
      for (int d = 0; d < problem_.dim_count(); ++d)
        if ((loops[at(stop)] & operand.dims & 1U << d) != 0) c.free = std::min(c.free, dims.lone[at(d)]);
    }
    c.shared_least = std::min(c.shared_least, c.shared_all);
    c.own_least = std::min(c.own_least, c.own_all);
  }
  return least_over(level, dims, counts);
}

Load TrafficBound::least_over(int level, const Along& along, const std::array<Counts, max_operands>& counts) const {
  const auto& chains = chains_[at(level)];
  Load least;
  bool first = true;
  const bool none = along.moving == 0;
  for (int d = 0; d < problem_.dim_count(); ++d) {  // dim of the innermost loop; without loops a single pass
    if (!none && (along.moving >> d & 1U) == 0) continue;
    Load load;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const auto [a, parent] = chains[i];
      const Counts& c = counts[i];
      const bool renewed = !none && problem_.operands[at(a)].uses(d);
      const double free = renewed ? along.lone[at(d)] : c.free;
      const double moved_shared = renewed ? c.shared_all : c.shared_least;
      const double moved_own = renewed ? c.own_all : c.own_least;
      const double shared = elements_[at(a)] * (moved_shared + (c.shared_free - moved_shared) * free);
      const double own = elements_[at(a)] * (moved_own + (c.own_free - moved_own) * free);
      const double size = problem_.operands[at(a)].bytes;
      const double read = a == 0 ? std::max(0.0, shared - first_[at(parent)]) : shared;
      const double filled = a == 0 ? std::max(0.0, own - first_[at(level)]) : own;
      load.energy += read * (read_cost_[at(a)][at(parent)] + size * down_cost_[at(parent)][at(level)]) +
                     filled * write_cost_[at(a)][at(level)];
      load.read[at(parent)] += read * size / all_instances_[at(parent)];
      load.written[at(level)] += filled * size / all_instances_[at(level)];
      if (a > 0) continue;
      load.energy += shared * (write_cost_[0][at(parent)] + size * up_cost_[at(parent)][at(level)]);
      load.written[at(parent)] += shared * size / all_instances_[at(parent)];
    }
    if (first) {
      least = load;
      first = false;
    } else {
      least.energy = std::min(least.energy, load.energy);
      for (int l = 0; l < problem_.level_count(); ++l) {
        least.read[at(l)] = std::min(least.read[at(l)], load.read[at(l)]);
        least.written[at(l)] = std::min(least.written[at(l)], load.written[at(l)]);
      }
    }
    if (none) break;
  }
  return least;
}

double TrafficBound::cycles(const Load& load) const {
  double most = 0;
  for (int l = 0; l < problem_.level_count(); ++l) {
    const Level& level = problem_.levels[at(l)];
    if (level.read_bandwidth > 0) most = std::max(most, load.read[at(l)] / level.read_bandwidth);
    if (level.write_bandwidth > 0) most = std::max(most, load.written[at(l)] / level.write_bandwidth);
  }
  return most;
}

double TrafficBound::bytes(int level, const LevelPoint::Tiles& tile) const {
  return bytes_of(problem_, keep_[at(level)], doubled(level), tile);
}

BytesAlong TrafficBound::bytes_along(int level, const LevelPoint::Tiles& tile, int dim) const {
  return hierarchy::bytes_along(problem_, keep_[at(level)], doubled(level), tile, dim);
}

}  // namespace isamap::hierarchy
