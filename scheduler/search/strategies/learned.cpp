// SPDX-License-Identifier: Apache-2.0
// Model-guided search: a learned cost model ranks candidate points, the best are evaluated: Chen et al., "Learning to
// optimize tensor programs", NeurIPS 2018. It predicts the logarithm of the cost from features of a point: ridge
// regression with products of sizes (always available), or boosted trees (model=xgboost, where installed). Illegal
// points count as twice the worst legal one.

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/cost/regression.h"
#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct Guidance {
  std::size_t batch, candidates;
  double explore, lambda;
  bool trees;
  std::uint64_t seed;
};

/// Candidates: mutations and crossovers of the cheapest points, and random ones; none known.
std::vector<Point> proposals(const SearchSpace& space, const History& known, std::size_t count, Random& random) {
  const std::vector<EvaluatedPoint> good = known.cheapest(24);
  std::vector<Point> points;
  std::set<std::vector<int>> seen;
  for (std::size_t tries = 0; tries < 4 * count && points.size() < count; ++tries) {
    const double kind = random.unit();
    Point point = good[std::min(pick(good.size(), random), pick(good.size(), random))].point;
    if (kind < 0.25)
      point = space.crossover(point, good[pick(good.size(), random)].point, random.next());
    else if (kind > 0.95)
      point = space.repair(space.random(random.next()));
    point = perturbed(space, std::move(point), 1 + pick(3, random), random);
    if (!known.find(point) && seen.insert(point.choice).second) points.push_back(std::move(point));
  }
  return points;
}

std::unique_ptr<Regression> trained(const SearchSpace& space, const FeatureProducts& products, const History& known,
                                    const Guidance& s) {
  auto model = s.trees ? make_boosted_trees(s.seed) : make_ridge(s.lambda);
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  double worst = 0;
  for (const EvaluatedPoint& told : known.legal()) {
    rows.push_back(products.of(space.features(told.point)));
    targets.push_back(std::log(std::max(told.objective, 1e-300)));
    worst = std::max(worst, targets.back());
  }
  for (const Point& point : known.illegal()) {
    rows.push_back(products.of(space.features(point)));
    targets.push_back(worst + std::log(2.0));
  }
  model->fit(rows, targets);
  return model;
}

SearchCoroutine guided(const SearchSpace& space, const History& known, Guidance s, Random& random) {
  const FeatureProducts products(space.feature_names());
  while (true) {
    const auto model = trained(space, products, known, s);
    std::vector<std::pair<double, Point>> ranked;
    for (Point& point : proposals(space, known, s.candidates, random)) {
      const double predicted = model->predict(products.of(space.features(point)));
      ranked.emplace_back(predicted, std::move(point));
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Point> points;
    for (std::size_t i = 0; i < ranked.size() && points.size() < s.batch; ++i)
      points.push_back(ranked[random.unit() < s.explore ? pick(ranked.size(), random) : i].second);
    if (points.empty()) points = draws(space, s.batch, random);
    co_await Evaluate(points);
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_learned(const SearchSpace& space, const StrategyOptions& options,
                                                              std::uint64_t seed) {
  OptionReader read("learned", options);
  Guidance s{};
  InitialSampling opening = read_opening(read, seed);
  s.batch = read.count("batch", 24, 1, 1000);
  opening.again = s.batch;
  s.candidates = read.count("candidates", 256, 1, 100000);
  s.explore = read.number("explore", 0.1, 0, 1);
  s.lambda = read.number("lambda", 0.1, 1e-9, 1e9);
  s.trees = read.word("model", "ridge", {"ridge", "xgboost"}) == "xgboost";
  s.seed = seed;
  if (s.trees && !has_boosted_trees())
    return error("this build has no XGBoost",
                 "Debian: apt-get install libxgboost-dev, then build again; model=ridge is always there");
  return make_coroutine_strategy(read, space, opening, s, guided);
}

}  // namespace isamap
