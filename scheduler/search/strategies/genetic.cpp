// SPDX-License-Identifier: Apache-2.0
// Genetic algorithm: Holland, "Adaptation in natural and artificial systems", 1975; for mappings onto accelerators Kao,
// Krishna, "GAMMA", ICCAD 2020. Tournament selection, crossover by dim, mutation, elitism.

#include <algorithm>

#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct Evolution {
  std::size_t population, tournament, elite;
  double mutation;
};

const Point& winner(const std::vector<EvaluatedPoint>& people, std::size_t tournament, Random& random) {
  std::size_t best = people.size();  // sorted by cost: the smallest index wins
  for (std::size_t i = 0; i < tournament; ++i) best = std::min(best, pick(people.size(), random));
  return people[best].point;
}

SearchCoroutine evolve(const SearchSpace& space, const History& known, Evolution s, Random& random) {
  std::vector<EvaluatedPoint> people = known.cheapest(s.population);
  while (true) {
    std::vector<Point> points;
    for (std::size_t child = 0; child + s.elite < s.population; ++child) {
      const Point& mother = winner(people, s.tournament, random);
      const Point& father = winner(people, s.tournament, random);
      Point born = space.crossover(mother, father, random.next());
      while (random.unit() < s.mutation || born == mother) {
        const Point before = born;
        born = space.mutate(born, random.next());
        if (born == before) break;  // a space of one point
      }
      points.push_back(std::move(born));
      co_await Propose(points.back());  // evaluated while the others are born
    }
    const Costs costs = co_await Evaluate(points);
    people.resize(std::min(people.size(), s.elite));
    for (std::size_t c = 0; c < points.size(); ++c)
      if (costs[c]) people.push_back({*costs[c], points[c]});
    sort_by_cost(people);
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_genetic(const SearchSpace& space, const StrategyOptions& options,
                                                              std::uint64_t seed) {
  OptionReader read("genetic", options);
  Evolution s{};
  InitialSampling opening = read_opening(read, seed);
  s.population = read.count("population", 32, 2, 100000);
  s.tournament = read.count("tournament", 3, 1, 100);
  s.elite = read.count("elite", 8, 1, 100000);
  s.mutation = read.number("mutation", 0.5, 0, 0.95);
  opening.drawn = std::max(opening.drawn, s.population);
  opening.again = s.population;
  if (s.elite >= s.population) return error("option elite of genetic must be below population");
  return make_coroutine_strategy(read, space, opening, s, evolve);
}

}  // namespace isamap
