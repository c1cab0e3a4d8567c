// Genetic algorithm: Holland, "Adaptation in natural and artificial systems", 1975; for mappings onto accelerators Kao,
// Krishna, "GAMMA", ICCAD 2020. Parents win tournaments, children recombine by dim and mutate, the best survive.

#include <algorithm>

#include "scheduler/inquiry.h"
#include "scheduler/strategy_options.h"

namespace isamap {

namespace {

struct Settings {
  std::size_t starts, population, tournament, elite;
  double mutation;
};

const Point& winner(const std::vector<Told>& people, std::size_t tournament, Random& random) {
  std::size_t best = people.size();  // sorted: the smallest number wins
  for (std::size_t i = 0; i < tournament; ++i) best = std::min(best, pick(people.size(), random));
  return people[best].point;
}

Inquiry evolve(const SearchSpace& space, const Knowledge& known, Settings s, Random random) {
  std::vector<Point> points = opening(space, s.starts, random);
  for (Point& point : draws(space, s.population, random)) points.push_back(std::move(point));
  points.resize(std::max(s.population, std::min(points.size(), 2 * s.starts)));
  co_await Ask(points);
  while (!known.best()) {
    points = draws(space, s.population, random);
    co_await Ask(points);
  }
  std::vector<Told> people = known.cheapest(s.population);
  while (true) {
    points.clear();
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
    }
    const Costs costs = co_await Ask(points);
    people.resize(std::min(people.size(), s.elite));
    for (std::size_t c = 0; c < points.size(); ++c)
      if (costs[c]) people.push_back({*costs[c], points[c]});
    std::stable_sort(people.begin(), people.end(),
                     [](const Told& a, const Told& b) { return a.objective < b.objective; });
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_genetic(const SearchSpace& space, const StrategyOptions& options,
                                                              std::uint64_t seed) {
  OptionReader read("genetic", options);
  Settings s{};
  s.starts = static_cast<std::size_t>(read.whole("starts", 16, 0, 1000));
  s.population = static_cast<std::size_t>(read.whole("population", 32, 2, 100000));
  s.tournament = static_cast<std::size_t>(read.whole("tournament", 3, 1, 100));
  s.elite = static_cast<std::size_t>(read.whole("elite", 8, 1, 100000));
  s.mutation = read.number("mutation", 0.5, 0, 0.95);
  if (Diagnostics problems = read.problems(); has_errors(problems)) return problems;
  if (s.elite >= s.population) return error("genetic keeps fewer than it breeds: elite is below population");
  return as_strategy([&](const Knowledge& known) { return evolve(space, known, s, Random(seed)); });
}

}  // namespace isamap
