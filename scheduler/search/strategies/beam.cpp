// SPDX-License-Identifier: Apache-2.0
// Beam search over the decisions: every point of the beam is expanded with every value of the next decision, undecided
// ones keep their value of a constructed start, and the cheapest `width` survive. After the last decision it restarts
// with the first. For schedules: Adams et al., "Learning to optimize Halide with tree search and random programs",
// SIGGRAPH 2019.

#include <algorithm>

#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct Beam {
  std::size_t width, values;
};

/// The point with other values of one decision: adjacent numbers, random other values, at most `most`.
std::vector<Point> alternatives(const SearchSpace& space, const Point& point, std::size_t decision, std::size_t most,
                                Random& random) {
  std::vector<int> values;
  const Decision& d = space.decisions()[decision];
  for (int v = 0; v < static_cast<int>(d.labels.size()); ++v)
    if (v != point.choice[decision]) values.push_back(v);
  shuffle(values, random);
  if (d.ordered())
    std::stable_sort(values.begin(), values.end(), [&](int a, int b) {
      return std::abs(a - point.choice[decision]) < std::abs(b - point.choice[decision]);
    });
  std::vector<Point> points;
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i) {
    Point other = point;
    other.choice[decision] = values[i];
    points.push_back(space.repair(std::move(other)));
  }
  return points;
}

SearchCoroutine widen(const SearchSpace& space, const History& known, Beam s, Random& random) {
  std::vector<EvaluatedPoint> beam = known.cheapest(s.width);
  std::vector<std::size_t> order(space.decisions().size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  while (true) {
    const double before = beam.front().objective;
    for (const std::size_t decision : order) {
      std::vector<Point> points;
      for (const EvaluatedPoint& at : beam)
        for (Point& other : alternatives(space, at.point, decision, s.values, random))
          points.push_back(std::move(other));
      if (points.empty()) continue;
      const Costs costs = co_await Evaluate(points);
      for (std::size_t p = 0; p < points.size(); ++p) {
        const bool there =
            std::any_of(beam.begin(), beam.end(), [&](const EvaluatedPoint& told) { return told.point == points[p]; });
        if (costs[p] && !there) beam.push_back({*costs[p], points[p]});
      }
      sort_by_cost(beam);
      if (beam.size() > s.width) beam.resize(s.width);
    }
    shuffle(order, random);
    if (beam.front().objective < before) continue;
    for (std::size_t i = 1; i < beam.size(); ++i) {  // stuck: perturb the beam except for its best
      const std::vector<Point> points{perturbed(space, beam.front().point, 1 + i, random)};
      const Costs costs = co_await Evaluate(points);
      if (costs.front()) beam[i] = {*costs.front(), points.front()};
    }
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_beam(const SearchSpace& space, const StrategyOptions& options,
                                                           std::uint64_t seed) {
  OptionReader read("beam", options);
  Beam s{};
  const InitialSampling opening = read_opening(read, seed);
  s.width = read.count("width", 4, 2, 1000);
  s.values = read.count("values", 4, 1, 1000);
  return make_coroutine_strategy(read, space, opening, s, widen);
}

}  // namespace isamap
