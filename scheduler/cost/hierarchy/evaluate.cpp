// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/hierarchy/evaluate.h"

#include <algorithm>
#include <cmath>

#include "scheduler/cost/hierarchy/dim_chain.h"

namespace isamap::hierarchy {

namespace {

constexpr int none = max_levels;  ///< no level: nothing is shared

/// Elements across one boundary: as read from the parent (multicast counted once), and summed over the instances
/// filled.
struct MovedElements {
  double shared = 0, own = 0;
};

/// A sliding window that advanced one step: what is in it now and was not before is new.
struct Window {
  int term = -1;                       ///< of the subscript, that advanced; -1: none did
  std::int64_t shift = 0, before = 0;  ///< by how much, and its size before; points of the term's dim
};

/// Of the terms of a subscript so far: number of tiles, and their width now, before the window advanced, and shift.
struct Widths {
  double count = 1, width = 1, before = 1, shift = 0;
};

/// The sum over the sizes of the terms from `i` on, below those of the terms before.
inline double combinations(const Subscript& s, const Sizes* const* sizes, Window window, std::size_t i,
                           const Widths& w) {
  if (i == s.size())
    return w.count * (w.shift > 0 ? std::min(w.width, std::max(0.0, w.shift + w.width - w.before)) : w.width);
  double total = 0;
  const double step = static_cast<double>(s[i].coefficient);
  const bool moves = window.term == static_cast<int>(i);
  for (int k = 0; k < sizes[i]->n; ++k) {
    const Size& size = sizes[i]->at[k];
    const double reach = step * static_cast<double>(size.extent - 1);
    total += combinations(s, sizes, window, i + 1,
                          {w.count * size.count, w.width + reach,
                           w.before + (moves ? step * static_cast<double>(window.before - 1) : reach),
                           moves ? step * static_cast<double>(window.shift) : w.shift});
  }
  return total;
}

/// Sum of the widths over all combinations of sizes; of a window that advanced, only the new elements.
inline double elements(const Subscript& s, const Sizes* const* sizes, Window window) {
  if (s.size() == 1) {
    double total = 0;
    const double step = static_cast<double>(s[0].coefficient);
    for (int i = 0; i < sizes[0]->n; ++i)
      total += sizes[0]->at[i].count * (1 + step * static_cast<double>(sizes[0]->at[i].extent - 1));
    return total;
  }
  return combinations(s, sizes, window, 0, {});
}

/// Bytes over a link of one instance, down and up, by level.
using WireLoads = std::array<std::array<double, 2>, max_levels>;

/// Links of one port take turns.
double port_cycles(const Problem& problem, const WireLoads& loads, std::int32_t port) {
  double sum = 0;
  for (int l = 0; l < problem.level_count() && port >= 0; ++l) {
    const Level::Wire* wires[] = {&problem.levels[at(l)].down, &problem.levels[at(l)].up};
    for (const int slot : {0, 1})
      if (wires[slot]->port == port && wires[slot]->bandwidth > 0)
        sum += loads[at(l)][at(slot)] / wires[slot]->bandwidth;
  }
  return sum;
}

/// One point: its loops by dim, then elements moved by operand, then energy and time.
class Evaluation {
 public:
  Evaluation(const Problem& problem, const LevelPoint& point, Evaluated& result)
      : problem_(problem), point_(point), result_(result) {
    for (int d = 0; d < problem.dim_count(); ++d) chains_[at(d)].read(problem, point, d);
    for (int l = 0; l < problem.level_count(); ++l)
      for (int i = 0; i < problem.dim_count(); ++i)
        position_[at(l)][point.levels[at(l)].order[at(i)]] = static_cast<std::uint8_t>(i);
  }

  void run() {
    check_room();
    if (!result_.fits) return;
    double used = 1;
    for (int l = 0; l < levels(); ++l) {
      result_.instances[at(l)] = used;
      for (int d = 0; d < dims(); ++d) used *= chains_[at(d)].instances(l);
    }
    for (int l = 0; l < levels(); ++l)
      first_visits_[at(l)] = problem_.inout || !kept(l, 0) ? 0 : product(0, l, none, 0);
    for (int a = 0; a < problem_.operand_count(); ++a) operand(a);
    energy();
    time();
  }

 private:
  int dims() const { return problem_.dim_count(); }
  int levels() const { return problem_.level_count(); }
  bool kept(int level, int a) const { return level == 0 || (point_.levels[at(level)].keep >> a & 1U) != 0; }

  void check_room() {
    for (int l = 0; l < levels(); ++l) {
      const Level& level = problem_.levels[at(l)];
      bool overfull = false;
      if (l > 0 && level.capacity > 0) {
        LevelPoint::Tiles tile;
        for (int d = 0; d < dims(); ++d) tile[at(d)] = chains_[at(d)].tile_at(l);
        overfull = bytes_of(problem_, point_.levels[at(l)].keep, point_.levels[at(l)].doubled, tile) > level.capacity;
      }
      bool exceeds_units = false;
      for (std::size_t x = 0; x < level.axes.size(); ++x) {
        std::int64_t used = 1;
        for (int d = 0; d < dims(); ++d) used *= chains_[at(d)].trip(l, static_cast<int>(x));
        exceeds_units = exceeds_units || used > level.axes[x].count;
      }
      if (!overfull && !exceeds_units) continue;
      result_.fits = false;
      result_.overfull = l;
      return;
    }
  }

  void operand(int a) {
    int parent = 0;
    for (int child = 1; child < levels(); ++child) {
      if (!kept(child, a)) continue;
      const MovedElements moved = moved_to(a, child, parent);
      Moved& above = result_.moved[at(parent)][at(a)];
      Moved& below = result_.moved[at(child)][at(a)];
      if (a == 0) {
        drain(above, parent, moved.shared);
        below.fills += std::max(0.0, moved.own - first_visits(child));
        const double back = std::max(0.0, moved.shared - first_visits(parent));
        wires(a, parent, child, {back, std::max(back, moved.own - first_visits(child))}, moved);
      } else {
        above.reads += moved.shared;
        below.fills += moved.own;
        wires(a, parent, child, moved, {});
      }
      parent = child;
    }
    const double touched = product(a, levels(), parent, levels());
    if (a == 0)
      drain(result_.moved[at(parent)][0], parent, touched);
    else
      result_.moved[at(parent)][at(a)].reads += touched;
  }

  void drain(Moved& to, int level, double elements) const {
    to.updates += elements;
    to.reads += std::max(0.0, elements - first_visits(level));
  }

  /// Elements of the output initialised with the identity: each once, in every copy on units that share a reduction.
  double first_visits(int level) const { return first_visits_[at(level)]; }

  /// Counts of the dims that operand a does not use, times the elements of all its tiles at the stage of `level`; loops
  /// of levels from `first` on are at their first step.
  double product(int a, int level, int shared, int first) const {
    const Operand& operand = problem_.operands[at(a)];
    double total = 1;
    for (int d = 0; d < dims(); ++d)
      if (!operand.uses(d)) total *= chains_[at(d)].count(level, first, shared);
    for (const Subscript& s : operand.subscripts) {
      const Sizes* sizes[max_dims];
      for (std::size_t i = 0; i < s.size(); ++i) sizes[i] = &chains_[at(s[i].dim)].all(level);
      total *= elements(s, sizes, {});
    }
    return total;
  }

  /// Elements moved into (the output: out of) the tiles at `child`: all visits minus those at which nothing changed.
  MovedElements moved_to(int a, int child, int parent) {
    const Operand& operand = problem_.operands[at(a)];
    MovedElements total{product(a, child, parent, child), 0};
    const bool multicast = multicasts(operand, parent, child);
    total.own = multicast ? product(a, child, none, child) : total.shared;
    for (int l = 0; l < child; ++l)
      for (int d = 0; d < dims(); ++d) {
        if (!chains_[at(d)].loops(l)) continue;
        if (operand.uses(d) && !slides(operand, child, d, l)) continue;
        const MovedElements same = unchanged(operand, child, parent, l, d, multicast);
        total.shared -= same.shared;
        total.own -= same.own;
      }
    return total;
  }

  /// Do several instances between the two levels use the same tile (multicast)?
  bool multicasts(const Operand& operand, int parent, int child) const {
    for (int d = 0; d < dims(); ++d)
      for (int l = parent; l < child && !operand.uses(d); ++l)
        if (chains_[at(d)].instances(l) > 1) return true;
    return false;
  }

  /// The loop of `dim` at `level` advanced, loops inside it are at their first step (or have no other): elements that
  /// need not move again.
  MovedElements unchanged(const Operand& operand, int child, int parent, int level, int dim, bool multicast) {
    const auto& position = position_[at(level)];
    double same = 1;
    for (const Subscript& s : operand.subscripts) {
      Sizes made[max_dims];
      const Sizes* sizes[max_dims];
      Window window;
      for (std::size_t i = 0; i < s.size(); ++i) {
        const int d = s[i].dim;
        const DimChain& chain = chains_[at(d)];
        const int from = position[at(d)] < position[at(dim)] ? level + 1 : level;
        if (d == dim) {
          chain.later(child, level, made[i]);
          window = {static_cast<int>(i), chain.tile(level), chain.tile_at(child)};
        } else if (from == child || chain.is_single(child, from)) {
          sizes[i] = &chain.all(child);
          continue;
        } else {
          chain.single(child, from, made[i]);
        }
        if (made[i].n == 0) return {};
        sizes[i] = &made[i];
      }
      same *= window.term < 0 ? elements(s, sizes, {}) : elements(s, sizes, {}) - elements(s, sizes, window);
    }
    MovedElements both{same, same};
    for (int d = 0; d < dims(); ++d) {
      if (operand.uses(d)) continue;
      const DimChain& chain = chains_[at(d)];
      const int from = position[at(d)] <= position[at(dim)] ? level + 1 : level;
      const int advanced = d == dim ? level : -1;
      const double shared = chain.count(child, from, parent, advanced);
      both.shared *= shared;
      both.own *= multicast ? chain.count(child, from, none, advanced) : shared;
      if (both.own == 0) return both;
    }
    return both;
  }

  /// Does the loop slide a window: a sum of dims, and no inner loop over the same dim?
  bool slides(const Operand& operand, int child, int dim, int level) const {
    if (!operand.window || !chains_[at(dim)].innermost_loop(child, level)) return false;
    for (const Subscript& s : operand.subscripts)
      for (const Term& term : s)
        if (term.dim == dim) return s.size() > 1;
    return false;
  }

  /// Links do not multicast: the link of each instance carries what it receives.
  void wires(int a, int parent, int child, MovedElements down, MovedElements up) {
    const double size = problem_.operands[at(a)].bytes;
    for (int l = parent; l < child; ++l) {
      const Level& level = problem_.levels[at(l)];
      const auto use = [&](const Level::Wire& wire, MovedElements moved, int slot) {
        if (wire.link < 0 || moved.shared <= 0) return;
        wire_bytes_[at(l)][at(slot)] += moved.shared * size;
        wire_loads_[at(l)][at(slot)] += moved.own * size / std::max(result_.instances[at(child)], 1.0);
      };
      use(level.down, down, 0);
      use(level.up, up, 1);
    }
  }

  void energy() {
    for (int l = 0; l < levels(); ++l) {
      const Level& level = problem_.levels[at(l)];
      for (int a = 0; a < problem_.operand_count(); ++a) {
        const Moved& m = result_.moved[at(l)][at(a)];
        result_.energy_pJ += (m.reads * level.read_energy + (m.fills + m.updates) * level.write_energy) *
                             (problem_.operands[at(a)].bytes / level.word);
      }
    }
    for (int l = 0; l + 1 < levels(); ++l) {
      result_.energy_pJ += wire_bytes_[at(l)][0] * problem_.levels[at(l)].down.energy;
      result_.energy_pJ += wire_bytes_[at(l)][1] * problem_.levels[at(l)].up.energy;
    }
    double calls = 1;
    for (int d = 0; d < dims(); ++d) calls *= static_cast<double>(problem_.dims[at(d)].extent);
    result_.energy_pJ += calls * problem_.call_energy;
  }

  void time() {
    double steps = 1;
    for (int d = 0; d < dims(); ++d) steps *= chains_[at(d)].count(levels(), levels(), 0);
    result_.compute = steps * problem_.call_cycles;
    double most = result_.compute;
    for (int l = 0; l < levels(); ++l) {
      const Level& level = problem_.levels[at(l)];
      double read = 0, written = 0;
      for (int a = 0; a < problem_.operand_count(); ++a) {
        const Moved& m = result_.moved[at(l)][at(a)];
        const double size = problem_.operands[at(a)].bytes, instances = result_.instances[at(l)];
        read += m.reads * size / instances;
        written += (m.fills + m.updates) * size / instances;
      }
      if (level.read_bandwidth > 0) most = std::max(most, read / level.read_bandwidth);
      if (level.write_bandwidth > 0) most = std::max(most, written / level.write_bandwidth);
      for (const int slot : {0, 1}) {
        const Level::Wire& wire = slot == 0 ? level.down : level.up;
        if (wire.link >= 0 && wire.bandwidth > 0)
          most = std::max(
              {most, wire_loads_[at(l)][at(slot)] / wire.bandwidth, port_cycles(problem_, wire_loads_, wire.port)});
      }
    }
    result_.cycles = std::ceil(most - 1e-9) + 0.0;  // -0 becomes 0
  }

  const Problem& problem_;
  const LevelPoint& point_;
  std::array<DimChain, max_dims> chains_;
  std::array<std::array<std::uint8_t, max_dims>, max_levels> position_{};
  std::array<double, max_levels> first_visits_{};
  WireLoads wire_bytes_{}, wire_loads_{};
  Evaluated& result_;
};

}  // namespace

Evaluated evaluate(const Problem& problem, const LevelPoint& point) {
  Evaluated result;
  Evaluation(problem, point, result).run();
  return result;
}

double bytes_of(const Problem& problem, std::uint32_t keep, std::uint32_t doubled, const LevelPoint::Tiles& tile) {
  double total = 0;
  for (int a = 0; a < problem.operand_count(); ++a) {
    if ((keep >> a & 1U) == 0) continue;
    const Operand& operand = problem.operands[at(a)];
    double elements = 1;
    for (const Subscript& s : operand.subscripts) {
      double width = 1;
      for (const Term& term : s)
        width += static_cast<double>(term.coefficient) * static_cast<double>(tile[at(term.dim)] - 1);
      elements *= width;
    }
    total += elements * operand.bytes * ((doubled >> a & 1U) != 0 ? 2 : 1);
  }
  return total;
}

BytesAlong bytes_along(const Problem& problem, std::uint32_t keep, std::uint32_t doubled, const LevelPoint::Tiles& tile,
                       int dim) {
  BytesAlong total;
  for (int a = 0; a < problem.operand_count(); ++a) {
    if ((keep >> a & 1U) == 0) continue;
    const Operand& operand = problem.operands[at(a)];
    double elements = operand.bytes * ((doubled >> a & 1U) != 0 ? 2 : 1), slope = 0;
    for (const Subscript& s : operand.subscripts) {  // the dim occurs in at most one of them
      double width = 1, step = 0;
      for (const Term& term : s) {
        const auto coefficient = static_cast<double>(term.coefficient);
        if (term.dim == dim)
          step = coefficient;
        else
          width += coefficient * static_cast<double>(tile[at(term.dim)] - 1);
      }
      slope = slope * width + elements * step;
      elements *= width;
    }
    total.at_one += elements;
    total.slope += slope;
  }
  return total;
}

}  // namespace isamap::hierarchy
