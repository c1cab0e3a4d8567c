// SPDX-License-Identifier: Apache-2.0
// Simulated annealing: Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220, 1983. Costs
// span orders of magnitude, so the energy is the logarithm of the cost: a temperature of 0.1 accepts a 10 % worse point
// about every third time. A few chains run in parallel; cold chains restart from the best point at the initial
// temperature.

#include <cmath>

#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct Annealing {
  std::size_t chains;
  double temperature, cooling, floor;
};

/// The next mutations if no chain moves, which is the rule once it is cold.
std::vector<Point> if_none_moves(const SearchSpace& space, const std::vector<EvaluatedPoint>& chains, Random random,
                                 std::size_t count) {
  std::vector<Point> points;
  while (points.size() < count) {
    for (std::size_t c = 0; c < chains.size(); ++c) random.unit();  // their luck
    for (const EvaluatedPoint& chain : chains) points.push_back(space.mutate(chain.point, random.next()));
  }
  return points;
}

SearchCoroutine anneal(const SearchSpace& space, const History& known, Annealing s, Random& random) {
  std::vector<EvaluatedPoint> chains;
  const Ahead ahead = [&](std::size_t count) { return if_none_moves(space, chains, random, count); };
  while (true) {
    chains = known.cheapest(s.chains);
    while (chains.size() < s.chains) chains.push_back(chains.front());
    for (double temperature = s.temperature; temperature > s.floor; temperature *= s.cooling) {
      std::vector<Point> points;
      for (const EvaluatedPoint& chain : chains) points.push_back(space.mutate(chain.point, random.next()));
      const Costs costs = co_await Evaluate(points, ahead);
      for (std::size_t c = 0; c < chains.size(); ++c) {
        const double luck = random.unit();
        if (!costs[c]) continue;
        const double increase = std::log(*costs[c]) - std::log(chains[c].objective);
        if (!(increase > 0) || luck < std::exp(-increase / temperature)) chains[c] = {*costs[c], points[c]};
      }
    }
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_annealing(const SearchSpace& space,
                                                                const StrategyOptions& options, std::uint64_t seed) {
  OptionReader read("annealing", options);
  Annealing s{};
  const InitialSampling opening = read_opening(read, seed);
  s.chains = read.count("chains", 2, 1, 64);
  s.temperature = read.number("temperature", 0.3, 1e-6, 100);
  s.cooling = read.number("cooling", 0.985, 0.1, 0.999999);
  s.floor = read.number("floor", 0.003, 1e-9, 100);
  return make_coroutine_strategy(read, space, opening, s, anneal);
}

}  // namespace isamap
