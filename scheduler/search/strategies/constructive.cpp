// SPDX-License-Identifier: Apache-2.0
// Hardware-aligned tiles, grown while they help: Zhu et al., "ROLLER: fast and efficient tensor compilation for deep
// learning", OSDI 2022. Tiles are whole steps of the instruction already, so aligned. Each construction takes mapping,
// routes and register tile of a start, sets every other size to one step, and repeatedly applies the growth of one size
// (to the next value, twice, or all) that is cheapest, until none improves. Constructions of cheap starts come first;
// then single decisions of the best are changed in turn.

#include <algorithm>
#include <set>

#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct Constructions {
  std::size_t constructions;
};

/// The start with every size other than register tiles at its minimum.
Point seedling(const SearchSpace& space, Point point) {
  for (std::size_t d = 0; d < point.choice.size(); ++d)
    if (space.decisions()[d].kind == DecisionKind::size) point.choice[d] = 0;
  return space.repair(std::move(point));
}

std::vector<Point> growths(const SearchSpace& space, const Point& point) {
  std::vector<Point> points;
  for (std::size_t d = 0; d < point.choice.size(); ++d) {
    if (!space.decisions()[d].ordered()) continue;
    const int last = static_cast<int>(space.decisions()[d].labels.size()) - 1;
    for (const int value : std::set<int>{point.choice[d] + 1, point.choice[d] + 4, last}) {
      if (value > last || value <= point.choice[d]) continue;
      Point other = point;
      other.choice[d] = value;
      points.push_back(space.repair(std::move(other)));
    }
  }
  return points;
}

SearchCoroutine construct(const SearchSpace& space, const History& known, Constructions s, Random& random) {
  for (const EvaluatedPoint& start : known.cheapest(s.constructions)) {
    std::vector<Point> points{seedling(space, start.point)};
    std::optional<EvaluatedPoint> at = cheapest_of(points, co_await Evaluate(points));
    while (at) {
      points = growths(space, at->point);
      if (points.empty()) break;
      const std::optional<EvaluatedPoint> best = cheapest_of(points, co_await Evaluate(points));
      if (!best || !(best->objective < at->objective)) break;
      at = best;
    }
  }
  EvaluatedPoint at = *known.best();
  while (true) {
    std::vector<Point> points = space.neighbours(at.point);
    const Ahead if_none_is_better = [&](std::size_t) {
      Random later = random;
      return std::vector<Point>{perturbed(space, known.best()->point, 3, later)};
    };
    const std::optional<EvaluatedPoint> best = cheapest_of(points, co_await Evaluate(points, if_none_is_better));
    if (best && best->objective < at.objective) {
      at = *best;
      continue;
    }
    points = {perturbed(space, known.best()->point, 3, random)};
    const Ahead if_it_is_legal = [&](std::size_t) { return space.neighbours(points.front()); };
    const std::optional<EvaluatedPoint> moved = cheapest_of(points, co_await Evaluate(points, if_it_is_legal));
    if (moved) at = *moved;
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_constructive(const SearchSpace& space,
                                                                   const StrategyOptions& options, std::uint64_t seed) {
  OptionReader read("constructive", options);
  Constructions s{};
  const InitialSampling opening = read_opening(read, seed, 24);
  s.constructions = read.count("constructions", 3, 1, 1000);
  return make_coroutine_strategy(read, space, opening, s, construct);
}

}  // namespace isamap
