// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "scheduler/cost/first_values.h"
#include "scheduler/cost/refill_critical_path.h"
#include "scheduler/cost/tile_renewals.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

using Extents = TileRenewals::Extents;

/// Time of the loops from one on, from all tiles being ready to the end of the last call.
struct LoopTime {
  double time = 0, compute = 0;
  std::vector<double> life;    ///< by flow: since its last renewal
  std::vector<double> waited;  ///< by flow
  std::vector<double> load;    ///< by flow and resource, calls last: cycles
};

/// One nest. The time of the loops from one on is found once for each set of extents that they run over.
class LatencyFormula {
 public:
  LatencyFormula(const ResolvedNest& view, const TileCounts& counts, const NestFlow& flow)
      : flow_(flow),
        table_(view, counts),
        tiles_(view, counts, flow, table_),
        inout_(starts_full(view)),
        doubled_(std::any_of(flow.flows.begin(), flow.flows.end(), [](const TileFlow& f) { return f.buffers > 1; })) {}

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
      first.fill(f, tiles_.moved(f, table_.extents, 0, WhichTile::first), 0, !back(f, true));
    result.fill = first.solve().end;
    for (std::size_t f = 0; f < flows; ++f)
      if (flow_.flows[f].access == 0) {
        const VisitMoved moved = tiles_.moved(f, table_.extents, 0, WhichTile::last);
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
    if (const std::int64_t remainder = extents[d] % e.tile; remainder > 0) {
      // many tails in many dims: the last step counts as a fraction of a full one
      if (known_.size() > most_loop_times) {
        steps.back().count += static_cast<double>(remainder) / static_cast<double>(e.tile);
      } else {
        Extents short_one = inside;
        short_one[d] = remainder;
        steps.push_back({1, std::move(short_one), later});
      }
    }
    LoopTime sum = time_of(w + 1, steps.front().extents, steps.front().first);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const LoopTime& one = time_of(w + 1, steps[s].extents, steps[s].first);
      if (s > 0)
        add_steps(sum, {time_of(w + 1, steps[s - 1].extents, steps[s - 1].first), steps[s - 1], one, steps[s]}, w, 1);
      if (steps[s].count > 1) add_steps(sum, {one, steps[s], one, steps[s]}, w, steps[s].count - 1);
    }
    for (std::size_t f = 0; f < flow_.flows.size(); ++f) {
      if (tiles_.renewed(f, w, extents))
        sum.life[f] = time_of(w + 1, steps.back().extents, steps.back().first).life[f];
      else
        sum.life[f] = sum.time;
    }
    return sum;
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
      if (!tiles_.renewed(f, w, outside)) continue;
      const double since = flow.buffers > 1 ? -before.life[f] - lead[f] : 0;
      const double share = std::min(1.0, before.life[f] / std::max(before.time, 1e-300));
      for (std::size_t r = 0; since < 0 && r < resources; ++r) path.busy_inside(f, r, inner_load(before, f, r) * share);
      if (flow.access == 0)
        path.drain(f, tiles_.moved(f, old.extents, w + 1, WhichTile::last),
                   tiles_.moved(f, old.extents, w + 1, WhichTile::before_last),
                   flow.buffers > 1 ? -before.life[f] - stalled : 0, tail());
      path.fill(f, tiles_.moved(f, now.extents, w + 1, WhichTile::first, tiles_.slides(f, w, now.extents)), since,
                !back(f, now.first));
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

  static constexpr std::size_t most_loop_times = 3000;
  static constexpr int iterations = 6;  ///< of the fixed point

  const NestFlow& flow_;
  const LoopTable table_;
  TileRenewals tiles_;
  bool inout_, doubled_;  ///< doubled: some tile has two buffers
  std::map<std::tuple<std::size_t, bool, Extents>, LoopTime> known_;
};

}  // namespace

Latency latency_of_nest(const ResolvedNest& view, const TileCounts& counts, const NestFlow& flow) {
  return LatencyFormula(view, counts, flow).run();
}

}  // namespace isamap
