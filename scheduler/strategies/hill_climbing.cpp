// Steps to better neighbours until there is none, from the best of some starts; then from the best point that is known,
// a few decisions of it changed at random. Iterated local search: Lourenço, Martin, Stützle, "Iterated local search",
// Handbook of Metaheuristics, 2003.

#include <algorithm>

#include "scheduler/inquiry.h"
#include "scheduler/strategy_options.h"

namespace isamap {

namespace {

struct Settings {
  std::size_t starts, descents, kick, side;
};

Inquiry climb(const SearchSpace& space, const Knowledge& known, Settings s, Random random) {
  std::vector<Point> points = opening(space, s.starts, random);
  co_await Ask(points);
  while (!known.best()) {
    points = draws(space, s.side, random);
    co_await Ask(points);
  }
  const std::vector<Told> from = known.cheapest(s.descents);
  Told at = from.front();
  for (std::size_t descent = 1;; ++descent) {
    for (bool better = true; better;) {
      better = false;
      std::vector<Point> around = space.neighbours(at.point);
      shuffle(around, random);
      for (std::size_t i = 0; i < around.size() && !better; i += s.side) {
        points.assign(around.begin() + static_cast<std::ptrdiff_t>(i),
                      around.begin() + static_cast<std::ptrdiff_t>(std::min(i + s.side, around.size())));
        const Costs costs = co_await Ask(points);
        for (std::size_t p = 0; p < points.size(); ++p)
          if (costs[p] && *costs[p] < at.objective) at = {*costs[p], around[i + p]}, better = true;
      }
    }
    if (descent < from.size()) {
      at = from[descent];
      continue;
    }
    for (bool legal = false; !legal;) {
      points = {kicked(space, known.best()->point, s.kick, random)};
      const Costs costs = co_await Ask(points);
      legal = costs.front().has_value();
      if (legal) at = {*costs.front(), points.front()};
    }
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_hill_climbing(const SearchSpace& space,
                                                                    const StrategyOptions& options,
                                                                    std::uint64_t seed) {
  OptionReader read("hill_climbing", options);
  Settings s{};
  s.starts = static_cast<std::size_t>(read.whole("starts", 16, 0, 1000));
  s.descents = static_cast<std::size_t>(read.whole("descents", 2, 1, 1000));
  s.kick = static_cast<std::size_t>(read.whole("kick", 3, 1, 100));
  s.side = static_cast<std::size_t>(read.whole("side", 4, 1, 64));
  if (Diagnostics problems = read.problems(); has_errors(problems)) return problems;
  return as_strategy([&](const Knowledge& known) { return climb(space, known, s, Random(seed)); });
}

}  // namespace isamap
