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

/// At most so many of the points from a place on that are not known yet.
std::vector<Point> unknown(const History& known, const std::vector<Point>& points, std::size_t from, std::size_t most) {
  std::vector<Point> found;
  for (std::size_t i = from; i < points.size() && found.size() < most; ++i)
    if (!known.find(points[i])) found.push_back(points[i]);
  return found;
}

std::vector<Point> shuffled_neighbours(const SearchSpace& space, const Point& point, Random& random) {
  std::vector<Point> around = space.neighbours(point);
  shuffle(around, random);
  return around;
}

SearchCoroutine climb(const SearchSpace& space, const History& known, Climbing s, Random& random) {
  const std::vector<EvaluatedPoint> from = known.cheapest(s.descents);
  EvaluatedPoint at = from.front();
  const auto kicked = [&](Random& next) { return perturbed(space, known.best()->point, s.kick, next); };
  for (std::size_t descent = 1;; ++descent) {
    for (bool better = true; better;) {
      better = false;
      const std::vector<Point> around = shuffled_neighbours(space, at.point, random);
      for (std::size_t i = 0; i < around.size() && !better; i += s.side) {
        const std::vector<Point> points = part(around, i, s.side);
        const Ahead ahead = [&](std::size_t count) {  // if none is better
          std::vector<Point> next = unknown(known, around, i + s.side, count);
          if (next.size() < count && descent >= from.size()) {
            Random later = random;
            next.push_back(kicked(later));
          }
          return next;
        };
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
      const std::vector<Point> points{kicked(random)};
      const Ahead ahead = [&](std::size_t count) {  // if it is legal
        Random later = random;
        return unknown(known, shuffled_neighbours(space, points.front(), later), 0, count);
      };
      moved = cheapest_of(points, co_await Evaluate(points, ahead));
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
