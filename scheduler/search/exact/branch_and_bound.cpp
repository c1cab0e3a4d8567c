// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/exact/branch_and_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "scheduler/search/exact/complete_point.h"
#include "scheduler/search/exact/loop_orders.h"
#include "scheduler/search/exact/spatial_unrollings.h"
#include "scheduler/search/exact/traffic_bound.h"

namespace isamap::hierarchy {

namespace {

using Tiles = LevelPoint::Tiles;

constexpr double exactness = 1e-12;  ///< tolerance: bound and cost are summed in different orders
constexpr double infinite = std::numeric_limits<double>::infinity();

std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Tiles of a node, by level: those decided, and the smallest ones that the inner levels allow.
struct PartialTiles {
  std::array<Tiles, max_levels + 1> unit{}, tile{};
};

/// Lower bounds of the subtrees of one root: open tiles are relaxed to the best that fit, level by level.
class RelaxedBounds {
 public:
  RelaxedBounds(const Problem& problem, const ExactOptions& options) : problem_(problem), options_(options) {
    for (int d = 0; d < dims(); ++d) outer_first_.push_back(d);
    std::stable_sort(outer_first_.begin(), outer_first_.end(),
                     [&](int a, int b) { return problem.dims[at(a)].extent > problem.dims[at(b)].extent; });
  }

  /// Starts a root; `thorough`: least traffic of each level over all tiles, else over the largest ones.
  void begin(TrafficBound& traffic, const SpatialUnrolling& unrolling, bool thorough) {
    traffic_ = &traffic;
    unrolling_ = &unrolling;
    traffic.set(unrolling);
    const int last = problem_.level_count() - 1;
    for (int d = 0; d < dims(); ++d) {
      outside_[at(last + 1)][at(d)] = 1;
      std::int64_t units = 1;
      for (int l = 0; l <= last; ++l) {
        outside_[at(l)][at(d)] = units;  // instances before a level
        if (l < last) units *= unrolling.steps[at(l)][at(d)];
      }
    }
    fixed_ = traffic.calls();
    for (int l = last; l > 0; --l) least_[at(l)] = relaxed(l, thorough);
    for (int l = 1; l <= last; ++l) {
      outer_[at(l)] = Load{};
      for (int o = 1; o < l; ++o) outer_[at(l)] = outer_[at(l)] + least_[at(o)];
    }
    double steps = problem_.call_cycles;
    for (int d = 0; d < dims(); ++d) steps *= static_cast<double>(ceil_of(extent(d), outside_[at(last)][at(d)]));
    least_compute_ = steps;
  }

  double root_bound() const {
    const int last = problem_.level_count() - 1;
    return bound(fixed_ + outer_[at(last)] + least_[at(last)], least_compute_);
  }

  double bound(const Load& load, double compute) const {
    return objective(load.energy, std::ceil(std::max(compute, traffic_->cycles(load)) - 1e-9));
  }

  /// With the dims in `decided` of level l and all inner levels; those from position `next` on are open.
  double node_bound(PartialTiles& tiles, int l, std::size_t next, std::uint32_t decided) const {
    Tiles optimistic = tiles.tile[at(l)];
    for (std::size_t j = next; j < outer_first_.size(); ++j) {
      const int d = outer_first_[j];
      const std::int64_t unit = tiles.unit[at(l)][at(d)];
      optimistic[at(d)] = std::max(unit, largest_that_fits(l, tiles.tile[at(l)], d, unit, limit_at(l, d)));
    }
    Load load = fixed_ + outer_[at(l)] + traffic_->into(l, optimistic, decided);
    const Tiles own = tiles.tile[at(l)];
    tiles.tile[at(l)] = optimistic;
    load = load + inside(tiles, l, decided);
    tiles.tile[at(l)] = own;
    return bound(load, compute(tiles, l, decided));
  }

  /// Lower bound of the traffic into the levels inside of `l`.
  Load inside(const PartialTiles& tiles, int l, std::uint32_t decided) const {
    Load load;
    const Known known{l, decided, tiles.tile.data(), tiles.unit.data()};
    for (int inner = l + 1; inner < problem_.level_count(); ++inner) load = load + traffic_->into(inner, known);
    return load;
  }

  /// Steps of the busiest instance.
  double compute(const PartialTiles& tiles, int l, std::uint32_t decided) const {
    const int last = problem_.level_count() - 1;
    double steps = problem_.call_cycles;
    for (int d = 0; d < dims(); ++d) {
      const std::int64_t units = outside_[at(last)][at(d)];
      if (l == last && (decided >> d & 1U) == 0) {
        steps *= static_cast<double>(ceil_of(extent(d), units));
        continue;
      }
      const std::int64_t t = tiles.tile[at(last)][at(d)], full = ceil_of(extent(d), t * units) - 1;
      if (on_several_levels(d))
        steps *= static_cast<double>(ceil_of(extent(d), units));
      else
        steps *= static_cast<double>(full * t + std::min(t, extent(d) - full * t * units));
    }
    return steps;
  }

  double objective(double energy, double cycles) const {
    if (options_.objective == Objective::cycles) return cycles;
    return options_.objective == Objective::energy ? energy : energy * cycles;
  }

  bool fits(int l, const Tiles& tile) const {
    return traffic_->room(l) <= 0 || traffic_->bytes(l, tile) <= traffic_->room(l);
  }
  const Load& calls() const { return fixed_; }
  const TrafficBound& traffic() const { return *traffic_; }
  const SpatialUnrolling& unrolling() const { return *unrolling_; }
  std::int64_t instances_outside(int l, int d) const { return outside_[at(l)][at(d)]; }
  const std::vector<int>& dims_by_extent() const { return outer_first_; }

 private:
  int dims() const { return problem_.dim_count(); }
  std::int64_t extent(int d) const { return problem_.dims[at(d)].extent; }

  /// Largest tile of `d` that fits at a level with the other dims at `tile`; `step` is its granularity.
  std::int64_t largest_that_fits(int l, const Tiles& tile, int d, std::int64_t step, std::int64_t limit) const {
    const double room = traffic_->room(l);
    if (room <= 0) return limit;
    const auto [one, slope] = traffic_->bytes_along(l, tile, d);
    if (slope <= 0) return limit;
    const double fits = std::floor((room - one) / slope) + 1;
    if (fits >= static_cast<double>(limit)) return limit;
    return std::max<std::int64_t>(static_cast<std::int64_t>(fits) / step * step, 0);
  }

  /// Least traffic into one level over all tiles that fit there, for any inner tiles.
  Load relaxed(int l, bool thorough) {
    Tiles smallest;
    smallest.fill(1);
    Tiles tile = smallest;
    for (int d = 0; d < dims(); ++d)
      tile[at(d)] = std::max<std::int64_t>(1, largest_that_fits(l, smallest, d, 1, limit_at(l, d)));
    Load load = traffic_->into(l, tile, 0, true);
    if (!thorough) return load;
    double best = infinite;
    relax(l, 0, smallest, best);
    load.energy = std::max(load.energy, best == infinite ? 0 : best);
    return load;
  }

  std::int64_t limit_at(int l, int d) const { return ceil_of(extent(d), outside_[at(l)][at(d)]); }

  void relax(int l, std::size_t i, Tiles& tile, double& best) {
    Tiles optimistic = tile;
    for (std::size_t j = i; j < outer_first_.size(); ++j) {
      const int d = outer_first_[j];
      optimistic[at(d)] = std::max<std::int64_t>(1, largest_that_fits(l, tile, d, 1, limit_at(l, d)));
    }
    const double energy = traffic_->into(l, optimistic, 0, true).energy;
    if (energy >= best) return;
    if (i == outer_first_.size()) {
      best = energy;
      return;
    }
    const int d = outer_first_[i];
    const std::int64_t limit = limit_at(l, d), largest = optimistic[at(d)];
    for (std::int64_t t = largest; t >= 1;) {
      const std::int64_t blocks = ceil_of(limit, t);
      std::int64_t own = ceil_of(limit, blocks);  // the smallest tile with as many blocks
      if (options_.dividing)
        for (own = t; limit % own != 0;) --own;
      tile[at(d)] = own;
      if (fits(l, tile)) relax(l, i + 1, tile, best);
      t = own - 1;
    }
    tile[at(d)] = 1;
  }

  /// Is the dim distributed at several levels?
  bool on_several_levels(int d) const {
    int levels = 0;
    for (int l = 0; l + 1 < problem_.level_count(); ++l) levels += unrolling_->steps[at(l)][at(d)] > 1 ? 1 : 0;
    return levels > 1;
  }

  const Problem& problem_;
  const ExactOptions& options_;
  std::vector<int> outer_first_;  ///< dims, largest first
  TrafficBound* traffic_ = nullptr;
  const SpatialUnrolling* unrolling_ = nullptr;
  Load fixed_;
  std::array<Load, max_levels> least_{}, outer_{};  ///< into a level; into all levels outside it
  double least_compute_ = 0;
  std::array<Tiles, max_levels + 1> outside_{};
};

/// Dims of subscripts that are sums: bit d.
std::uint32_t window_dims(const Problem& problem) {
  std::uint32_t dims = 0;
  for (const Operand& o : problem.operands)
    for (const Subscript& s : o.subscripts)
      for (const Term& term : s)
        if (s.size() > 1) dims |= 1U << term.dim;
  return dims;
}

/// Candidate loop orders of one level.
struct LevelOrders {
  const std::vector<Order>* orders = nullptr;
  std::vector<Load> loads;  ///< lower bound of the traffic into the level inside, by order
  Load least;               ///< lower bound for any orders here and further inside
};
using Orders = std::array<LevelOrders, max_levels>;

class BranchAndBound {
 public:
  using Curve = std::vector<std::pair<std::int64_t, double>>;
  BranchAndBound(const Problem& problem, const ExactOptions& options, const ExactCounts& before, const Curve& curve)
      : problem_(problem),
        options_(options),
        orders_(problem),
        window_(window_dims(problem)),
        nodes_before_(before.nodes),
        bounds_(problem, options) {
    result_.counts = before;
    result_.curve = curve;
  }

  Exact run(const std::optional<LevelPoint>& start) {
    result_.value = infinite;
    if (start) offer(*start);
    struct Root {
      std::size_t keep, unrolling;
      double bound;
    };
    const std::vector<SpatialUnrolling> unrollings = spatial_unrollings(problem_, options_.dividing);
    const std::vector<Keep> keeps = all_keeps(problem_, options_.keep_all);
    std::vector<Root> roots;
    for (std::size_t k = 0; k < keeps.size(); ++k) {
      TrafficBound traffic(problem_, keeps[k], options_.dividing, options_.double_buffered ? 2 : 1);
      for (std::size_t s = 0; s < unrollings.size(); ++s) {
        bounds_.begin(traffic, unrollings[s], false);
        const double bound = bounds_.root_bound();
        if (bound < infinite) roots.push_back({k, s, bound});
      }
    }
    std::stable_sort(roots.begin(), roots.end(), [](const Root& a, const Root& b) { return a.bound < b.bound; });
    result_.lower_bound = infinite;
    for (const Root& root : roots) {
      if (pruned(root.bound)) break;
      if (stopped_) {
        result_.lower_bound = std::min(result_.lower_bound, root.bound);
        break;
      }
      TrafficBound traffic(problem_, keeps[root.keep], options_.dividing, options_.double_buffered ? 2 : 1);
      bounds_.begin(traffic, unrollings[root.unrolling], true);
      keep_ = &keeps[root.keep];
      if (const double bound = bounds_.root_bound(); !pruned(bound)) level(problem_.level_count() - 1);
      if (stopped_) result_.lower_bound = std::min(result_.lower_bound, root.bound);
    }
    result_.finished = !stopped_;
    result_.lower_bound = std::min(result_.lower_bound, result_.best ? result_.value : infinite);
    return std::move(result_);
  }

 private:
  int dims() const { return problem_.dim_count(); }
  std::int64_t extent(int d) const { return problem_.dims[at(d)].extent; }

  bool pruned(double bound) const { return bound >= result_.value * (1 - exactness); }

  void offer(const LevelPoint& point) {
    const Evaluated cost = evaluate(problem_, point);
    ++result_.counts.evaluations;
    if (!cost.fits) return;
    const double value = bounds_.objective(cost.energy_pJ, cost.cycles);
    if (result_.best && value >= result_.value) return;
    result_.best = point;
    result_.cost = cost;
    result_.value = value;
    if (result_.curve.empty() || value < result_.curve.back().second)
      result_.curve.emplace_back(result_.counts.evaluations, value);
  }

  void check_limits() {
    if (options_.max_evaluations > 0 && result_.counts.evaluations >= options_.max_evaluations) stopped_ = true;
    if (options_.max_nodes > 0 && result_.counts.nodes - nodes_before_ >= options_.max_nodes) stopped_ = true;
    if (options_.stop && result_.counts.nodes % 1024 == 0 && options_.stop(result_.counts.evaluations, result_.value))
      stopped_ = true;
  }

  /// Branches over the tiles of one level, dim by dim; inner levels are decided.
  void level(int l) {
    const int last = problem_.level_count() - 1;
    for (int d = 0; d < dims(); ++d)
      partial_.unit[at(l)][at(d)] =
          l == last ? 1
                    : std::min(extent(d), partial_.tile[at(l + 1)][at(d)] * bounds_.unrolling().steps[at(l)][at(d)]);
    if (l == 0) {
      for (int d = 0; d < dims(); ++d) partial_.tile[0][at(d)] = extent(d);
      const std::uint32_t all = (1U << dims()) - 1;
      const double whole =
          bounds_.bound(bounds_.calls() + bounds_.inside(partial_, 0, all), bounds_.compute(partial_, 0, all));
      ++result_.counts.nodes;
      if (!pruned(whole)) return complete();
      ++result_.counts.by_bound;
      return;
    }
    partial_.tile[at(l)] = partial_.unit[at(l)];
    if (!bounds_.fits(l, partial_.tile[at(l)])) {
      ++result_.counts.by_room;
      return;
    }
    dim(l, 0, 0);
  }

  struct Choice {
    double bound;
    std::int64_t tile;
  };

  void dim(int l, std::size_t i, std::uint32_t decided) {
    if (i == bounds_.dims_by_extent().size()) return level(l - 1);
    const int d = bounds_.dims_by_extent()[i];
    const std::int64_t smallest = partial_.unit[at(l)][at(d)];
    std::vector<Choice> choices;
    for (const std::int64_t t : tiles(l, d)) {
      partial_.tile[at(l)][at(d)] = t;
      if (!bounds_.fits(l, partial_.tile[at(l)])) {
        ++result_.counts.by_room;
        break;  // larger tiles do not fit either
      }
      ++result_.counts.nodes;
      const double b = bounds_.node_bound(partial_, l, i + 1, decided | 1U << d);
      if (pruned(b))
        ++result_.counts.by_bound;
      else
        choices.push_back({b, t});
    }
    std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
      return a.bound != b.bound ? a.bound < b.bound : a.tile > b.tile;
    });
    for (const Choice& choice : choices) {
      check_limits();
      if (stopped_) break;
      if (pruned(choice.bound)) {
        ++result_.counts.by_bound;
        continue;
      }
      partial_.tile[at(l)][at(d)] = choice.tile;
      dim(l, i + 1, decided | 1U << d);
    }
    partial_.tile[at(l)][at(d)] = smallest;
  }

  /// Tile sizes, ascending: multiples of the inner tile.
  std::vector<std::int64_t> tiles(int l, int d) {
    const std::int64_t unit = partial_.unit[at(l)][at(d)], whole = extent(d);
    const std::int64_t units = bounds_.instances_outside(l, d);
    std::vector<std::int64_t> found;
    if (options_.dividing) {
      const std::int64_t left = whole / unit / units;
      for (std::int64_t k = 1; k <= left; ++k)
        if (left % k == 0 && !dominated_by_growth(l, d, k)) found.push_back(unit * k);
      return found;
    }
    const std::int64_t steps = ceil_of(ceil_of(whole, unit), units);  // more have no effect
    const auto add = [&](std::int64_t k) {
      if (k < 1 || k > steps) return;
      const std::int64_t t = std::min(whole, unit * k);
      if (l > 0 && units > 1 && !fills_units(l, d, t)) return;
      found.push_back(t);
    };
    if (l > 1 || (window_ >> d & 1U) != 0 || l == problem_.level_count() - 1) {
      for (std::int64_t k = 1; k <= steps; ++k) add(k);
      return found;
    }
    // Outermost: for each number of outer steps the smallest tile, and those whose tail has one or two steps.
    for (std::int64_t outer = 1; outer <= steps; ++outer) {
      add(ceil_of(steps, outer));
      if (outer > 1 && (steps - 1) % (outer - 1) == 0) add((steps - 1) / (outer - 1));
      if (outer > 1 && steps > 2 && (steps - 2) % (outer - 1) == 0) add((steps - 2) / (outer - 1));
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  /// Are the units outside of a tile fully used?
  bool fills_units(int l, int d, std::int64_t t) const {
    for (int o = l - 1; o >= 0; --o) {
      const std::int64_t s = bounds_.unrolling().steps[at(o)][at(d)];
      if ((s - 1) * t >= extent(d)) return false;
      if (s > 1) return true;  // outer tiles are larger: decided there
    }
    return true;
  }

  /// Dominance: could a factor of this loop move into the innermost tile, which is never worse?
  bool dominated_by_growth(int l, int d, std::int64_t k) {
    const int last = problem_.level_count() - 1;
    if (l != last - 1 || last < 2 || k == 1) return false;
    Tiles larger = partial_.tile[at(last)];
    const std::int64_t own = larger[at(d)];
    for (std::int64_t f = 2; f <= k; ++f) {
      if (k % f != 0) continue;
      larger[at(d)] = own * f;
      if (bounds_.fits(last, larger)) {
        ++result_.counts.by_growth;
        return true;
      }
      while (k % f == 0) k /= f;
    }
    return false;
  }

  /// All tiles are decided: branches over loop orders.
  void complete() {
    LevelPoint point = complete_point(problem_, *keep_, bounds_.unrolling(), partial_.tile.data());
    for (int l = 1; l < problem_.level_count() && options_.double_buffered; ++l)
      point.levels[at(l)].doubled = point.levels[at(l)].keep;
    const Loops loops = loops_of(problem_, point);
    const Known known{0, (1U << dims()) - 1, partial_.tile.data(), partial_.unit.data()};
    Orders orders;
    for (int l = problem_.level_count() - 2; l >= 0; --l) {
      LevelOrders& here = orders[at(l)];
      here.orders = &orders_.of(loops.at[at(l)], loops.short_tails[at(l)]);
      for (const Order& o : *here.orders)
        here.loads.push_back(bounds_.traffic().into(l + 1, known, loops.at[at(l)] == 0 ? -1 : o[at(dims() - 1)]));
      here.least = bounds_.traffic().into(l + 1, known) + orders[at(l + 1)].least;
    }
    order(point, orders, 0, bounds_.calls(), bounds_.compute(partial_, 0, known.decided));
  }

  /// `load`: of the levels with chosen orders.
  void order(LevelPoint& point, const Orders& orders, int l, const Load& load, double steps) {
    if (l + 1 == problem_.level_count()) return offer(point);
    const LevelOrders& here = orders[at(l)];
    for (std::size_t i = 0; i < here.loads.size(); ++i) {
      const Load chosen = load + here.loads[i];
      if (pruned(bounds_.bound(chosen + orders[at(l + 1)].least, steps))) continue;
      point.levels[at(l)].order = (*here.orders)[i];
      order(point, orders, l + 1, chosen, steps);
    }
  }

  const Problem& problem_;
  const ExactOptions& options_;
  LoopOrders orders_;
  std::uint32_t window_ = 0;  ///< dims of window subscripts
  Exact result_;
  std::int64_t nodes_before_;  ///< of earlier searches in smaller spaces
  bool stopped_ = false;

  RelaxedBounds bounds_;
  const Keep* keep_ = nullptr;  ///< of the current root
  PartialTiles partial_;        ///< of the current node
};

}  // namespace

/// Smaller spaces first: their optimum is the incumbent of the next. Their trees are explored with a limited budget.
Exact search_exact(const Problem& problem, const ExactOptions& options, const std::optional<LevelPoint>& start) {
  constexpr std::int64_t first_budget = 20'000;  // complete schedules, and ten times as many partial ones
  std::optional<LevelPoint> best = start;
  ExactCounts before;
  std::vector<std::pair<std::int64_t, double>> curve;
  for (const auto& [dividing, keep_all] : {std::pair(true, true), std::pair(true, false), std::pair(false, true)}) {
    if ((options.dividing && !dividing) || (options.keep_all && !keep_all)) continue;
    if (options.dividing == dividing && options.keep_all == keep_all) continue;
    ExactOptions smaller = options;
    smaller.dividing = dividing;
    smaller.keep_all = keep_all;
    smaller.max_evaluations = first_budget;
    if (options.max_evaluations > 0)
      smaller.max_evaluations = std::min(first_budget, options.max_evaluations - before.evaluations);
    smaller.max_nodes = 10 * first_budget;
    if (smaller.max_evaluations <= 0) break;
    Exact found = BranchAndBound(problem, smaller, before, curve).run(best);
    if (found.best) best = found.best;
    before = found.counts;
    curve = std::move(found.curve);
  }
  return BranchAndBound(problem, options, before, curve).run(best);
}

}  // namespace isamap::hierarchy
