// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "scheduler/cost/refill_critical_path.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

using Extents = std::vector<std::int64_t>;

/// Time of the loops from one on, from all tiles being ready to the end of the last call.
struct LoopTime {
  double time = 0, compute = 0;
  std::vector<double> life;    ///< by flow: since its last renewal
  std::vector<double> waited;  ///< by flow
  std::vector<double> load;    ///< by flow and resource, calls last: cycles
};

class LatencyFormula {
 public:
  LatencyFormula(const ResolvedNest& view, const TileCounts& counts, const NestFlow& flow)
      : view_(view), counts_(counts), flow_(flow), table_(view, counts), inout_(is_inout(view)) {
    for (const TileFlow& f : flow.flows) {
      doubled_ = doubled_ || f.buffers > 1;
      // Parents serve all instances: their traffic is scaled by the ratio of all instances to the first.
      const int above = f.parent < 0 ? 0 : flow.flows[static_cast<std::size_t>(f.parent)].loops;
      const double all = counts.moved(f.access, f.loops, {above, false}, f.slide);
      const double one = counts.moved(f.access, f.loops, {above, true}, f.slide);
      spread_.push_back(one > 0 ? all / one : 1);
    }
  }

  Latency run() {
    Latency result;
    const std::size_t flows = flow_.flows.size(), resources = flow_.resources.size();
    result.waited.assign(flows, 0);
    result.busy.assign(resources, 0);
    for (const std::int64_t extent : table_.extents)
      if (extent <= 0) return result;
    const LoopTime& all = time_of(0, table_.extents, true);
    RefillPath first(flow_, resources), last(flow_, resources);
    for (std::size_t f = 0; f < flows; ++f)
      first.fill(f, work(f, table_.extents, 0, Which::first, -1), 0, !back(f, true));
    result.fill = first.solve().end;
    for (std::size_t f = 0; f < flows; ++f)
      if (flow_.flows[f].access == 0) {
        const VisitMoved moved = work(f, table_.extents, 0, Which::last, -1);
        last.drain(f, moved, moved, 0, tail());
      }
    result.drain = last.solve().end;
    result.compute = all.compute;
    result.cycles = result.fill + all.time + result.drain;
    result.waited = all.waited;
    for (std::size_t f = 0; f <= flows; ++f)
      for (std::size_t r = 0; r < resources; ++r) result.busy[r] += all.load[f * resources + r];
    for (const RefillPath* path : {&first, &last})
      for (std::size_t f = 0; f < flows; ++f)
        for (std::size_t r = 0; r < resources; ++r) result.busy[r] += path->load(f, r);
    for (const double busy : result.busy) result.cycles = std::max(result.cycles, busy);
    bound(result);
    return result;
  }

 private:
  static bool is_inout(const ResolvedNest& view) {
    return view.kernel->tensors[view.statement.write.tensor.index()].inout;
  }

  void bound(Latency& result) const {
    double most = result.compute;
    result.bound = {"compute", true};
    const auto larger = [&](double cycles, const std::string& name) {
      if (cycles <= most) return;
      most = cycles;
      result.bound = {name};
    };
    for (std::size_t f = 0; f < flow_.flows.size(); ++f) larger(result.waited[f], "waiting for " + flow_.flows[f].name);
    larger(result.fill, "the first tiles");
    larger(result.drain, "the last results");
  }

  double tail() const { return std::max(0.0, flow_.call.latency - flow_.call.each); }

  /// Are elements loaded from the parent? Those of an output only after their first visit.
  bool back(std::size_t f, bool first) const {
    return flow_.flows[f].moves && (flow_.flows[f].access != 0 || inout_ || !first);
  }

  enum class Which { first, before_last, last };

  /// Elements of a tile of a flow below the loops from `loop` on; `slid`: the loop that advanced along a sliding
  /// window.
  VisitMoved work(std::size_t f, const Extents& outside, std::size_t loop, Which which, int slid) const {
    const TileFlow& flow = flow_.flows[f];
    tile_ = outside;
    std::size_t innermost = table_.loops.size();  // advances from the tile before the last to the last
    for (std::size_t w = loop; w < static_cast<std::size_t>(flow.loops); ++w) {
      const LoopTable::Entry& e = table_.loops[w];
      std::int64_t& extent = tile_[static_cast<std::size_t>(e.dim)];
      const std::int64_t rest = extent % e.tile;
      if (e.time && extent > e.tile && e.used[static_cast<std::size_t>(flow.access)]) innermost = w;
      extent = which != Which::first && e.time && rest > 0 ? rest : std::min(extent, e.tile);
    }
    if (which == Which::before_last && innermost < table_.loops.size()) {
      tile_ = outside;
      for (std::size_t w = loop; w < static_cast<std::size_t>(flow.loops); ++w) {
        const LoopTable::Entry& e = table_.loops[w];
        std::int64_t& extent = tile_[static_cast<std::size_t>(e.dim)];
        const std::int64_t rest = extent % e.tile;
        extent = w != innermost && e.time && rest > 0 ? rest : std::min(extent, e.tile);
      }
    }
    TileCounts::Step step;
    if (slid >= 0) {
      step.dim = table_.loops[static_cast<std::size_t>(slid)].dim;
      step.shift = table_.loops[static_cast<std::size_t>(slid)].tile;
      step.before = view_.tiles(flow.loops)[static_cast<std::size_t>(step.dim)];
    }
    double elements = 1;
    for (const TileCounts::Group& group : counts_.groups(flow.access)) {
      group_.clear();
      bool moves = false;
      for (const int d : group.dims) {
        group_.push_back(tile_[static_cast<std::size_t>(d)]);
        moves = moves || d == step.dim;
      }
      elements *= counts_.footprint(group, group_, slid >= 0 && moves ? &step : nullptr);
    }
    return {0, elements * spread_[f], elements};
  }

  const LoopTime& time_of(std::size_t w, const Extents& extents, bool first) {
    const auto key = std::tuple(w, first, extents);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    LoopTime made = w >= static_cast<std::size_t>(flow_.block) ? block(extents) : loop(w, extents, first);
    return known_.emplace(key, std::move(made)).first->second;
  }

  LoopTime block(const Extents& extents) const {
    const CallBlock calls = block_of(flow_, table_, extents);
    LoopTime made;
    const std::size_t flows = flow_.flows.size(), resources = flow_.resources.size();
    made.time = made.compute = calls.cycles;
    made.life.assign(flows, calls.cycles);
    made.waited.assign(flows, 0);
    made.load.assign((flows + 1) * resources, 0);
    for (const Occupation& use : flow_.call.uses)
      made.load[flows * resources + static_cast<std::size_t>(use.resource)] += use.own * calls.calls;
    return made;
  }

  /// A number of equal consecutive steps.
  struct Steps {
    double count = 0;
    Extents extents;
    bool first = false;
  };

  /// From a step to the next: the loops inside it, before and after.
  struct Transition {
    const LoopTime& before;
    const Steps& old;
    const LoopTime& after;
    const Steps& now;
  };

  LoopTime loop(std::size_t w, const Extents& extents, bool first) {
    const LoopTable::Entry& e = table_.loops[w];
    const auto d = static_cast<std::size_t>(e.dim);
    Extents inside = extents;
    inside[d] = std::min(extents[d], e.tile);
    if (!e.time || extents[d] <= e.tile) return time_of(w + 1, inside, first);
    std::vector<Steps> steps;
    const double full = static_cast<double>(extents[d] / e.tile);
    const bool later = first && e.used[0];  // an element is revisited when a loop that the output does not use advances
    if (later == first) {
      steps.push_back({full, inside, first});
    } else {
      steps.push_back({1, inside, first});
      if (full > 1) steps.push_back({full - 1, inside, later});
    }
    if (const std::int64_t rest = extents[d] % e.tile; rest > 0) {
      // many tails in many dims: the last step counts as a fraction of a full one
      if (known_.size() > most_loop_times) {
        steps.back().count += static_cast<double>(rest) / static_cast<double>(e.tile);
      } else {
        Extents short_one = inside;
        short_one[d] = rest;
        steps.push_back({1, std::move(short_one), later});
      }
    }
    LoopTime sum = time_of(w + 1, steps.front().extents, steps.front().first);
    bool renewed_all = true;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const LoopTime& one = time_of(w + 1, steps[s].extents, steps[s].first);
      if (s > 0)
        add_steps(sum, {time_of(w + 1, steps[s - 1].extents, steps[s - 1].first), steps[s - 1], one, steps[s]}, w, 1);
      if (steps[s].count > 1) add_steps(sum, {one, steps[s], one, steps[s]}, w, steps[s].count - 1);
    }
    for (std::size_t f = 0; f < flow_.flows.size(); ++f) {
      if (renewed(f, w, extents))
        sum.life[f] = time_of(w + 1, steps.back().extents, steps.back().first).life[f];
      else
        sum.life[f] = sum.time;
      renewed_all = renewed_all && renewed(f, w, extents);
    }
    return sum;
  }

  /// Is the tile renewed when the loop advances, all dims having these extents outside it?
  bool renewed(std::size_t f, std::size_t w, const Extents& extents) const {
    const TileFlow& flow = flow_.flows[f];
    if (static_cast<int>(w) >= flow.place) return false;
    const auto a = static_cast<std::size_t>(flow.access);
    if (table_.loops[w].used[a]) return true;
    tile_ = extents;
    for (std::size_t inner = w + 1; inner < static_cast<std::size_t>(flow.place); ++inner) {
      const LoopTable::Entry& e = table_.loops[inner];
      std::int64_t& extent = tile_[static_cast<std::size_t>(e.dim)];
      if (e.time && e.used[a] && extent > e.tile) return true;
      extent = std::min(extent, e.tile);
    }
    return false;
  }

  /// Adds `times` transitions, each with the loop time after it.
  void add_steps(LoopTime& sum, const Transition& step, std::size_t w, double times) {
    const LoopTime& after = step.after;
    const std::size_t flows = flow_.flows.size(), resources = flow_.resources.size();
    RefillPath path(flow_, resources);
    RefillPath::Solved solved;
    // The refill of a double-buffered tile starts when its buffer is free, at the previous transition, so it depends on
    // the stall there: a fixed point of the steady state, found by damped iteration.
    std::vector<double> lead(flows, 0);
    double stalled = 0;
    for (int round = 0; round < iterations; ++round) {
      path = refill(step, w, lead, stalled);
      solved = path.solve();
      if (!doubled_) break;
      stalled = (stalled + solved.end) / 2;
      for (std::size_t f = 0; f < flows; ++f)
        lead[f] = (lead[f] + solved.end - std::clamp(path.filled(f), 0.0, solved.end)) / 2;
    }
    sum.time += times * (solved.end + after.time);
    sum.compute += times * after.compute;
    for (std::size_t f = 0; f < flows; ++f) sum.waited[f] += times * after.waited[f];
    if (solved.last >= 0) sum.waited[static_cast<std::size_t>(solved.last)] += times * solved.end;
    for (std::size_t i = 0; i < sum.load.size(); ++i) sum.load[i] += times * after.load[i];
    for (std::size_t f = 0; f < flows; ++f)
      for (std::size_t r = 0; r < resources; ++r) sum.load[f * resources + r] += times * path.load(f, r);
  }

  /// The drains and fills when the loop advances from `old` to `now`.
  RefillPath refill(const Transition& step, std::size_t w, const std::vector<double>& lead, double stalled) const {
    const auto& [before, old, after, now] = step;
    const std::size_t resources = flow_.resources.size();
    RefillPath path(flow_, resources);
    Extents outside = old.extents;  // for renewed(): other dims have the same extents outside and inside this loop
    outside[static_cast<std::size_t>(table_.loops[w].dim)] = 0;
    for (std::size_t f = flow_.flows.size(); f-- > 0;) {
      const TileFlow& flow = flow_.flows[f];
      if (!renewed(f, w, outside)) continue;
      const double since = flow.buffers > 1 ? -before.life[f] - lead[f] : 0;
      const double share = std::min(1.0, before.life[f] / std::max(before.time, 1e-300));
      for (std::size_t r = 0; since < 0 && r < resources; ++r) path.busy_inside(f, r, inner_load(before, f, r) * share);
      if (flow.access == 0)
        path.drain(f, work(f, old.extents, w + 1, Which::last, -1), work(f, old.extents, w + 1, Which::before_last, -1),
                   flow.buffers > 1 ? -before.life[f] - stalled : 0, tail());
      path.fill(f, work(f, now.extents, w + 1, Which::first, slid(f, w, now.extents)), since, !back(f, now.first));
    }
    return path;
  }

  /// Cycles of a resource occupied by calls and by transfers of inner tiles.
  double inner_load(const LoopTime& time, std::size_t f, std::size_t r) const {
    const std::size_t resources = flow_.resources.size();
    double load = time.load[flow_.flows.size() * resources + r];
    for (std::size_t other = 0; other < flow_.flows.size(); ++other)
      if (flow_.flows[other].place > flow_.flows[f].place) load += time.load[other * resources + r];
    return load;
  }

  /// The loop, if the tile of the flow slides when it advances and no inner loop restarts.
  int slid(std::size_t f, std::size_t w, const Extents& inside) const {
    const TileFlow& flow = flow_.flows[f];
    if (!flow.slide || !table_.loops[w].used[static_cast<std::size_t>(flow.access)] ||
        !counts_.slides(flow.access, flow.loops, static_cast<int>(w)))
      return -1;
    tile_ = inside;
    for (std::size_t inner = w + 1; inner < static_cast<std::size_t>(flow.loops); ++inner) {
      const LoopTable::Entry& e = table_.loops[inner];
      std::int64_t& extent = tile_[static_cast<std::size_t>(e.dim)];
      if (e.time && e.used[static_cast<std::size_t>(flow.access)] && extent > e.tile) return -1;
      extent = std::min(extent, e.tile);
    }
    return static_cast<int>(w);
  }

  static constexpr std::size_t most_loop_times = 3000;
  static constexpr int iterations = 6;  ///< of the fixed point

  const ResolvedNest& view_;
  const TileCounts& counts_;
  const NestFlow& flow_;
  const LoopTable table_;
  bool inout_, doubled_ = false;  ///< doubled: some tile has two buffers
  std::vector<double> spread_;    ///< by flow: elements of all instances relative to the first
  std::map<std::tuple<std::size_t, bool, Extents>, LoopTime> known_;
  mutable Extents tile_, group_;
};

}  // namespace

Latency latency_of_nest(const ResolvedNest& view, const TileCounts& counts, const NestFlow& flow) {
  return LatencyFormula(view, counts, flow).run();
}

}  // namespace isamap
