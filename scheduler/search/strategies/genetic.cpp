// SPDX-License-Identifier: Apache-2.0
// Genetic algorithm: Holland, "Adaptation in natural and artificial systems", 1975; for mappings onto accelerators Kao,
// Krishna, "GAMMA", ICCAD 2020. Tournament selection, crossover by dim, mutation, elitism.

#include <algorithm>
#include <utility>

#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct Evolution {
  std::size_t population, tournament, elite, renewals;
  double mutation;
};

const Point& winner(const std::vector<EvaluatedPoint>& people, std::size_t tournament, Random& random) {
  std::size_t best = people.size();  // sorted by cost: the smallest index wins
  for (std::size_t i = 0; i < tournament; ++i) best = std::min(best, pick(people.size(), random));
  return people[best].point;
}

/// A child, mutated until it is new, so that a generation of a small space is not mostly what is known.
Point born_to(const SearchSpace& space, const History& known, const std::vector<EvaluatedPoint>& people,
              const Evolution& s, Random random) {
  const Point& mother = winner(people, s.tournament, random);
  const Point& father = winner(people, s.tournament, random);
  Point born = space.crossover(mother, father, random.next());
  std::size_t renewals = 0;
  while (random.unit() < s.mutation || (known.find(born) && renewals++ < s.renewals)) {
    Point before = std::exchange(born, space.mutate(born, random.next()));
    if (born == before) break;  // a space of one point
  }
  return born;
}

SearchCoroutine evolve(const SearchSpace& space, const History& known, Evolution s, Random& random) {
  std::vector<EvaluatedPoint> people = known.cheapest(s.population);
  while (true) {
    const std::uint64_t generation = random.next();
    const PointMaker make = [&](std::size_t child) -> std::optional<Point> {
      return born_to(space, known, people, s, Random(generation ^ child));
    };
    std::vector<EvaluatedPoint> children = co_await EvaluateMade(s.population - s.elite, make);
    people.resize(std::min(people.size(), s.elite));
    people.insert(people.end(), children.begin(), children.end());
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
  s.tournament = read.count("tournament", 6, 1, 100);
  s.elite = read.count("elite", 8, 1, 100000);
  s.renewals = read.count("renewals", 8, 0, 1000);
  s.mutation = read.number("mutation", 0.5, 0, 0.95);
  opening.drawn = std::max(opening.drawn, s.population);
  opening.again = s.population;
  if (s.elite >= s.population) return error("option elite of genetic must be below population");
  opening.patience = batches_of_patience(opening, s.population - s.elite);
  return make_coroutine_strategy(read, space, opening, s, evolve);
}

}  // namespace isamap
