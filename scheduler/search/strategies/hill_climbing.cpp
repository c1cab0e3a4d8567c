// SPDX-License-Identifier: Apache-2.0
// Iterated local search (Lourenço, Martin, Stützle, Handbook of Metaheuristics, 2003): descend to a local optimum from
// the best of some starts; then from the best known point with a few decisions perturbed.

#include <algorithm>

#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct Climbing {
  std::size_t descents, kick, side;
};

std::vector<Point> part(const std::vector<Point>& points, std::size_t from, std::size_t count) {
  from = std::min(from, points.size());
  count = std::min(count, points.size() - from);
  return {points.begin() + static_cast<std::ptrdiff_t>(from),
          points.begin() + static_cast<std::ptrdiff_t>(from + count)};
}

SearchCoroutine climb(const SearchSpace& space, const History& known, Climbing s, Random& random) {
  const std::vector<EvaluatedPoint> from = known.cheapest(s.descents);
  EvaluatedPoint at = from.front();
  for (std::size_t descent = 1;; ++descent) {
    for (bool better = true; better;) {
      better = false;
      std::vector<Point> around = space.neighbours(at.point);
      shuffle(around, random);
      for (std::size_t i = 0; i < around.size() && !better; i += s.side) {
        const std::vector<Point> points = part(around, i, s.side);
        const Ahead ahead = [&](std::size_t count) { return part(around, i + s.side, count); };  // if none is better
        const Costs costs = co_await Evaluate(points, ahead);
        for (std::size_t p = 0; p < points.size(); ++p)
          if (costs[p] && *costs[p] < at.objective) at = {*costs[p], around[i + p]}, better = true;
      }
    }
    if (descent < from.size()) {
      at = from[descent];
      continue;
    }
    for (std::optional<EvaluatedPoint> moved; !moved;) {
      const std::vector<Point> points{perturbed(space, known.best()->point, s.kick, random)};
      moved = cheapest_of(points, co_await Evaluate(points));
      if (moved) at = *moved;
    }
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_hill_climbing(const SearchSpace& space,
                                                                    const StrategyOptions& options,
                                                                    std::uint64_t seed) {
  OptionReader read("hill_climbing", options);
  Climbing s{};
  InitialSampling opening = read_opening(read, seed);
  s.descents = read.count("descents", 2, 1, 1000);
  s.kick = read.count("kick", 3, 1, 100);
  s.side = read.count("side", 4, 1, 64);
  opening.again = s.side;
  return make_coroutine_strategy(read, space, opening, s, climb);
}

}  // namespace isamap
