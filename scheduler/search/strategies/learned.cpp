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
#include "support/stop.h"

namespace isamap {

namespace {

struct Guidance {
  std::size_t batch, candidates;
  double explore, lambda, retrain;
  bool trees;
  std::uint64_t seed;
};

/// A mutation or crossover of the cheapest points, or a random point; none known.
std::optional<Point> proposal(const SearchSpace& space, const History& known, const std::vector<EvaluatedPoint>& good,
                              Random random) {
  for (int tries = 0; tries < 4; ++tries) {
    const double kind = random.unit();
    Point point = good[std::min(pick(good.size(), random), pick(good.size(), random))].point;
    if (kind < 0.25)
      point = space.crossover(point, good[pick(good.size(), random)].point, random.next());
    else if (kind > 0.95)
      point = space.repair(space.random(random.next()));
    point = perturbed(space, std::move(point), 1 + pick(3, random), random);
    if (!known.find(point)) return point;
  }
  return std::nullopt;
}

/// What was told, as rows of the regression: those of a point are computed once.
class TrainingData {
 public:
  TrainingData(const SearchSpace& space, const History& known, const Guidance& settings)
      : space_(space), known_(known), settings_(settings), products_(space.feature_names()) {}

  std::vector<double> row_of(const Point& point) const { return products_.of(space_.features(point)); }

  /// Trained with all that was told, or up to a share of it that came since. At the end of the search training is left.
  const Regression& model() {
    const std::size_t told = known_.legal().size() + known_.illegal().size();
    const double since = static_cast<double>(told - rows_.size());
    if (!model_ || since > settings_.retrain * static_cast<double>(rows_.size())) train();
    return *model_;
  }

 private:
  void train() {
    double worst = 0;
    for (; legal_ < known_.legal().size(); ++legal_) {
      leave_if_asked();
      rows_.push_back(row_of(known_.legal()[legal_].point));
      targets_.push_back(std::log(std::max(known_.legal()[legal_].objective, 1e-300)));
    }
    for (std::size_t r = 0; r < rows_.size(); ++r)
      if (!is_illegal(r)) worst = std::max(worst, targets_[r]);
    for (; illegal_ < known_.illegal().size(); ++illegal_) {
      leave_if_asked();
      illegal_rows_.push_back(rows_.size());
      rows_.push_back(row_of(known_.illegal()[illegal_]));
      targets_.push_back(0);
    }
    for (const std::size_t r : illegal_rows_) targets_[r] = worst + std::log(2.0);
    model_ = settings_.trees ? make_boosted_trees(settings_.seed) : make_ridge(settings_.lambda);
    model_->fit(rows_, targets_);
  }
  bool is_illegal(std::size_t row) const { return std::binary_search(illegal_rows_.begin(), illegal_rows_.end(), row); }

  const SearchSpace& space_;
  const History& known_;
  const Guidance& settings_;
  const FeatureProducts products_;
  std::vector<std::vector<double>> rows_;
  std::vector<double> targets_;            ///< by row
  std::vector<std::size_t> illegal_rows_;  ///< ascending
  std::size_t legal_ = 0, illegal_ = 0;    ///< of the history, in the rows
  std::unique_ptr<Regression> model_;
};

using Ranked = std::pair<double, Point>;  ///< by predicted cost

/// Those to evaluate: the best, some of them replaced by drawn ones.
std::vector<Point> chosen(std::vector<std::optional<Ranked>> proposed, const Guidance& s, Random& random) {
  std::vector<Ranked> ranked;
  std::set<std::vector<int>> seen;
  for (std::optional<Ranked>& one : proposed)
    if (one && seen.insert(one->second.choice).second) ranked.push_back(std::move(*one));
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.first < b.first; });
  std::vector<Point> points;
  for (std::size_t i = 0; i < ranked.size() && points.size() < s.batch; ++i)
    points.push_back(ranked[random.unit() < s.explore ? pick(ranked.size(), random) : i].second);
  return points;
}

SearchCoroutine guided(const SearchSpace& space, const History& known, Guidance s, Random& random) {
  TrainingData lessons(space, known, s);
  while (true) {
    const Regression& model = lessons.model();
    const std::vector<EvaluatedPoint> good = known.cheapest(24);
    const std::uint64_t batch = random.next();
    std::vector<std::optional<Ranked>> proposed(s.candidates);
    const PointMaker propose = [&](std::size_t i) -> std::optional<Point> {
      if (auto point = proposal(space, known, good, Random(batch ^ i))) {
        const double predicted = model.predict(lessons.row_of(*point));
        proposed[i].emplace(predicted, std::move(*point));
      }
      return std::nullopt;  // to be ranked first
    };
    co_await EvaluateMade(s.candidates, propose);
    std::vector<Point> points = chosen(std::move(proposed), s, random);
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
  s.retrain = read.number("retrain", 0.1, 0, 100);
  s.trees = read.word("model", "ridge", {"ridge", "xgboost"}) == "xgboost";
  s.seed = seed;
  if (s.trees && !has_boosted_trees())
    return error("this build has no XGBoost",
                 "Debian: apt-get install libxgboost-dev, then build again; model=ridge is always there");
  return make_coroutine_strategy(read, space, opening, s, guided);
}

}  // namespace isamap
