// Tiles that the hardware likes first, grown while they help: Zhu et al., "ROLLER: fast and efficient tensor
// compilation for deep learning", OSDI 2022. Tiles are whole steps of the instruction already, so aligned. Each
// construction takes a start's mapping, routes and register tile, makes every other size one step, and then takes,
// again and again, the growth of one size (by one value or to twice or all of it) that makes the schedule cheapest,
// until none does. Constructions of cheap starts come first; afterwards single decisions of the best are changed in
// turn.

#include <algorithm>
#include <set>

#include "scheduler/inquiry.h"
#include "scheduler/strategy_options.h"

namespace isamap {

namespace {

struct Settings {
  std::size_t starts, constructions;
};

/// The start with every size that is no register tile at its smallest.
Point seedling(const SearchSpace& space, Point point) {
  for (std::size_t d = 0; d < point.choice.size(); ++d)
    if (space.decisions()[d].ordered && !space.decisions()[d].name.starts_with("registers")) point.choice[d] = 0;
  return space.repair(std::move(point));
}

std::vector<Point> growths(const SearchSpace& space, const Point& point) {
  std::vector<Point> points;
  for (std::size_t d = 0; d < point.choice.size(); ++d) {
    if (!space.decisions()[d].ordered) continue;
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

/// Index of the cheapest, or nothing.
std::optional<std::size_t> cheapest(const Costs& costs) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < costs.size(); ++i)
    if (costs[i] && (!best || *costs[i] < *costs[*best])) best = i;
  return best;
}

Inquiry construct(const SearchSpace& space, const Knowledge& known, Settings s, Random random) {
  std::vector<Point> points = opening(space, s.starts, random);
  co_await Ask(points);
  while (!known.best()) {
    points = draws(space, 16, random);
    co_await Ask(points);
  }
  for (const Told& start : known.cheapest(s.constructions)) {
    points = {seedling(space, start.point)};
    Told at{0, points.front()};
    const Costs first = co_await Ask(points);
    if (!first.front()) continue;
    at.objective = *first.front();
    while (true) {
      points = growths(space, at.point);
      if (points.empty()) break;
      const Costs costs = co_await Ask(points);
      const auto best = cheapest(costs);
      if (!best || !(*costs[*best] < at.objective)) break;
      at = {*costs[*best], points[*best]};
    }
  }
  Told at = *known.best();
  while (true) {
    points = space.neighbours(at.point);
    const Costs costs = co_await Ask(points);
    const auto best = cheapest(costs);
    if (best && *costs[*best] < at.objective) {
      at = {*costs[*best], points[*best]};
      continue;
    }
    points = {kicked(space, known.best()->point, 3, random)};
    const Costs moved = co_await Ask(points);
    if (moved.front()) at = {*moved.front(), points.front()};
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_constructive(const SearchSpace& space,
                                                                   const StrategyOptions& options, std::uint64_t seed) {
  OptionReader read("constructive", options);
  Settings s{};
  s.starts = static_cast<std::size_t>(read.whole("starts", 24, 1, 1000));
  s.constructions = static_cast<std::size_t>(read.whole("constructions", 3, 1, 1000));
  if (Diagnostics problems = read.problems(); has_errors(problems)) return problems;
  return as_strategy([&](const Knowledge& known) { return construct(space, known, s, Random(seed)); });
}

}  // namespace isamap
