// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/strategy_coroutine.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "scheduler/space/point_check.h"
#include "support/hash.h"

namespace isamap {

namespace {

SearchCoroutine sample_initially(const SearchSpace& space, const History& known, InitialSampling opening,
                                 Random& random) {
  std::vector<Point> points = draws(space, opening.drawn, random);
  if (opening.starts > 0) {
    const std::vector<Point> starts = space.starts(opening.starts);
    points.insert(points.begin(), starts.begin(), starts.end());
  }
  co_await Evaluate(points);
  while (!known.best()) {
    points = draws(space, opening.again, random);
    co_await Evaluate(points);
  }
}

class CoroutineStrategy final : public SearchStrategy {
 public:
  CoroutineStrategy(const SearchSpace& space, const InitialSampling& opening, SearchBody body)
      : space_(space),
        random_(opening.seed),
        patience_(opening.patience),
        coroutine_(sample_initially(space, known_, opening, random_)),
        body_(std::move(body)) {}

  std::optional<Point> next() override {
    while (queue_.empty() && outstanding_ == 0 && advance())
      if (!made_.empty()) make_here();
    if (queue_.empty()) return std::nullopt;
    Point point = std::move(queue_.front());
    queue_.pop_front();
    ++outstanding_;
    return point;
  }

  std::size_t makes() override {
    if (!queue_.empty() || outstanding_ > 0) return 0;
    advance();
    return made_.size();
  }

  std::optional<Point> make(std::size_t number) override {
    std::optional<Point>& point = made_[number];
    point = (*promise().make)(number);
    if (point && !in_space(*point, space_.decisions())) point = space_.repair(std::move(*point));
    return point && !known_.find(*point) ? point : std::nullopt;
  }

  void report(const Point& point, std::optional<double> objective) override {
    known_.tell(point, objective);
    idle_ = 0;
    if (outstanding_ > 0) --outstanding_;
  }

  std::size_t batch() const override { return std::max<std::size_t>(1, queue_.size() + outstanding_); }
  std::vector<Point> likely(std::size_t count) const override {
    const Ahead* ahead = coroutine_->promise().ahead;
    if (coroutine_->done() || ahead == nullptr) return {};
    std::vector<Point> points = (*ahead)(count);
    std::erase_if(points, [&](const Point& point) { return known_.find(point) != nullptr; });
    return points;
  }
  /// Points come from `repair` or derive from it; those out of range are repaired in advance().
  bool proposes_repaired() const override { return true; }

 private:
  SearchCoroutine::promise_type& promise() const { return coroutine_->promise(); }

  /// To the next points that are asked, or that are to be made. False: there are none.
  bool advance() {
    while (idle_ < patience_ && !coroutine_->done()) {
      answer();
      coroutine_->resume();
      if (coroutine_->done() && body_) coroutine_.emplace(std::exchange(body_, nullptr)(known_, random_));
      made_.assign(coroutine_->done() ? 0 : promise().count, std::nullopt);
      ++idle_;
      if (!made_.empty()) return true;
      enqueue(promise().asked);
      if (!queue_.empty()) return true;
    }
    made_.clear();
    return false;
  }

  void make_here() {
    std::vector<Point> points;
    for (std::size_t i = 0; i < made_.size(); ++i)
      if (auto point = make(i)) points.push_back(std::move(*point));
    enqueue(points);
  }

  /// Those that are not known, each once.
  void enqueue(std::vector<Point>& asked) {
    known_answers_.clear();
    for (Point& point : asked) {
      if (!in_space(point, space_.decisions())) point = space_.repair(std::move(point));
      known_answers_.push_back(known_.find(point));
      if (!known_answers_.back() && std::find(queue_.begin(), queue_.end(), point) == queue_.end())
        queue_.push_back(point);
    }
  }

  void answer() {
    promise().answers.clear();
    promise().legal.clear();
    for (std::size_t p = 0; made_.empty() && p < promise().asked.size(); ++p)
      promise().answers.push_back(known_answers_[p] ? *known_answers_[p] : *known_.find(promise().asked[p]));
    for (const std::optional<Point>& point : made_)
      if (const auto* cost = point ? known_.find(*point) : nullptr; cost && *cost)
        promise().legal.push_back({**cost, *point});
  }

  const SearchSpace& space_;
  History known_;
  Random random_;
  std::deque<Point> queue_;
  std::size_t outstanding_ = 0;                              ///< asked, not yet told
  std::size_t patience_;                                     ///< of `idle_`
  std::size_t idle_ = 0;                                     ///< batches since a point was told
  std::vector<std::optional<Point>> made_;                   ///< of the batch that is being made
  std::vector<const std::optional<double>*> known_answers_;  ///< to what the coroutine asks; null: not known then
  std::optional<SearchCoroutine> coroutine_;                 ///< the initial sampling, then the body
  SearchBody body_;                                          ///< empty once called
};

}  // namespace

std::size_t History::Hash::operator()(const std::vector<int>& choice) const {
  return static_cast<std::size_t>(fnv1a(choice));
}

void History::tell(const Point& point, std::optional<double> objective) {
  if (!costs_.emplace(point.choice, objective).second) return;
  if (!objective) {
    illegal_.push_back(point);
    return;
  }
  legal_.push_back({*objective, point});
  if (*objective < legal_[best_].objective) best_ = legal_.size() - 1;
}

const std::optional<double>* History::find(const Point& point) const {
  const auto it = costs_.find(point.choice);
  return it == costs_.end() ? nullptr : &it->second;
}

std::vector<EvaluatedPoint> History::cheapest(std::size_t count) const {
  std::vector<std::size_t> order(legal_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return std::pair(legal_[a].objective, a) < std::pair(legal_[b].objective, b);
                    });
  std::vector<EvaluatedPoint> found;
  for (std::size_t i = 0; i < count; ++i) found.push_back(legal_[order[i]]);
  return found;
}

std::unique_ptr<SearchStrategy> make_coroutine_strategy(const SearchSpace& space, const InitialSampling& opening,
                                                        SearchBody body) {
  return std::make_unique<CoroutineStrategy>(space, opening, std::move(body));
}

InitialSampling read_opening(OptionReader& read, std::uint64_t seed, std::size_t starts) {
  starts = read.count("starts", starts, 0, 1000);
  return {.starts = starts,
          .drawn = std::max<std::size_t>(starts, 8),
          .seed = seed,
          .patience = read.count("patience", 2000, 1, 1000000)};
}

std::size_t batches_of_patience(const InitialSampling& opening, std::size_t made) {
  return (opening.patience + made - 1) / made;
}

void sort_by_cost(std::vector<EvaluatedPoint>& points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const EvaluatedPoint& a, const EvaluatedPoint& b) { return a.objective < b.objective; });
}

std::optional<EvaluatedPoint> cheapest_of(const std::vector<Point>& points, const Costs& costs) {
  std::optional<EvaluatedPoint> best;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (costs[i] && (!best || *costs[i] < best->objective)) best = EvaluatedPoint{*costs[i], points[i]};
  return best;
}

std::vector<Point> draws(const SearchSpace& space, std::size_t count, Random& random) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back(space.repair(space.random(random.next())));
  return points;
}

Point perturbed(const SearchSpace& space, Point point, std::size_t times, Random& random) {
  for (std::size_t i = 0; i < times; ++i) point = space.mutate(point, random.next());
  return point;
}

std::size_t pick(std::size_t count, Random& random) {
  return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(count) - 1));
}

}  // namespace isamap
