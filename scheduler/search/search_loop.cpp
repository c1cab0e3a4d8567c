// SPDX-License-Identifier: Apache-2.0
// Points of one batch are evaluated concurrently and told in the order in which they were asked, so a strategy sees the
// same results for any number of workers. What is likely to be asked next is evaluated ahead by workers that would be
// idle; it has no effect unless it is asked.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "isamap/search.h"
#include "scheduler/search/executor.h"
#include "scheduler/search/search_stop.h"
#include "scheduler/space/point_check.h"

namespace isamap {

namespace {

constexpr std::size_t most_kept = 12;
constexpr std::size_t most_ahead = 256, most_known = 4;

/// Those that are cheaper than all before them, and than `least`.
std::vector<const PointResult*> successive_bests(const std::vector<PointResult>& results, double least,
                                                 Objective objective) {
  std::vector<const PointResult*> bests;
  for (const PointResult& at : results)
    if (at.cost && at.nest && at.problems.empty() && value(*at.cost, objective) < least) {
      least = value(*at.cost, objective);
      bests.push_back(&at);
    }
  return bests;
}

/// Why bests of a batch are refused, which are lowered side by side before the batch is told.
class RefusalsAhead {
 public:
  RefusalsAhead(const LoopOptions& options, Workers& workers) : options_(options), workers_(workers) {}

  /// Those that will be the best, one after the other.
  void lower(const std::vector<PointResult>& results, double least) {
    known_.clear();
    if (!options_.refuse || options_.noise || workers_.jobs() == 1) return;
    const std::vector<const PointResult*> bests = successive_bests(results, least, options_.objective);
    if (bests.size() < 2) return;
    std::vector<Diagnostics> refusals =
        for_each_in_parallel(workers_, bests.size(), [&](std::size_t i) { return options_.refuse(*bests[i]->nest); });
    for (std::size_t i = 0; i < bests.size(); ++i) known_[bests[i]] = std::move(refusals[i]);
  }

  Diagnostics of(const PointResult& at) const {
    const auto known = known_.find(&at);
    return known != known_.end() ? known->second : options_.refuse(*at.nest);
  }

 private:
  const LoopOptions& options_;
  Workers& workers_;
  std::map<const PointResult*, Diagnostics> known_;
};

/// The next batch of a strategy.
struct Asked {
  std::size_t made = 0;       ///< points that workers make
  std::vector<Point> points;  ///< of a batch without these; none: the strategy has no more
};

std::vector<Scored> cheapest_of_keys(std::map<std::string, Scored> best_per_key) {
  std::vector<Scored> all;
  for (auto& [key, best] : best_per_key) all.push_back(std::move(best));
  std::stable_sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) { return a.objective < b.objective; });
  if (all.size() > most_keys) all.resize(most_keys);
  return all;
}

/// The points with the best estimates, among which finer ones decide.
class Finalists {
 public:
  explicit Finalists(std::size_t most) : most_(most) {}

  void keep(const Point& point, double objective) {
    if (most_ == 0 || (points_.size() >= most_ && objective >= points_.back().first)) return;
    const auto same = [&](const auto& one) { return one.second.choice == point.choice; };
    if (std::any_of(points_.begin(), points_.end(), same)) return;
    const auto at = std::upper_bound(points_.begin(), points_.end(), objective,
                                     [](double value, const auto& one) { return value < one.first; });
    points_.emplace(at, objective, point);
    if (points_.size() > most_) points_.pop_back();
  }

  /// The best by the finer estimate that is not refused; of equal ones the best by the estimate. `best` stays where the
  /// model knows no finer one: measuring again might choose another.
  void choose(Executor& executor, const LoopOptions& options, Scored& best) {
    std::vector<Scored> refined;
    PointResult first{best.point, best.nest, best.cost, {}, false};
    if (most_ == 0 || !executor.refine(first)) return;
    best = scored(std::move(first), options.objective);
    for (auto& [objective, point] : points_) {
      if (point.choice == best.point.choice) continue;
      PointResult at;
      at.point = std::move(point);
      if (executor.refine(at)) refined.push_back(scored(std::move(at), options.objective));
    }
    std::stable_sort(refined.begin(), refined.end(),
                     [](const Scored& a, const Scored& b) { return a.objective < b.objective; });
    for (Scored& one : refined) {
      if (one.objective >= best.objective) return;
      if (options.refuse && has_errors(options.refuse(one.nest))) continue;
      best = std::move(one);
      return;
    }
  }

 private:
  static Scored scored(PointResult at, Objective objective) {
    const double finer = value(*at.cost, objective);
    return {finer, std::move(at.point), std::move(*at.nest), std::move(*at.cost)};
  }

  std::size_t most_;
  std::vector<std::pair<double, Point>> points_;  ///< best first
};

class SearchLoop {
 public:
  SearchLoop(const SearchSpace& space, SearchStrategy& strategy, const CostModelFactory& costs,
             const LoopOptions& options)
      : space_(space),
        strategy_(strategy),
        costs_(costs),
        options_(options),
        workers_(options.workers ? options.workers : std::make_shared<Workers>(options.jobs)),
        refusals_(options, *workers_) {
    jobs_ = static_cast<std::size_t>(workers_->jobs());
    auto made = options.executor ? options.executor(space, costs, options.watch_nests)
                                 : make_thread_executor(space, costs, workers_, options.watch_nests);
    if (made)
      executor_ = std::move(*made);
    else
      found_.failure = made.diagnostics();
  }

  Found run() {
    if (has_errors(found_.failure)) return std::move(found_);
    std::vector<Point> known;
    for (const Point& point : options_.known)
      if (static_cast<std::int64_t>(known.size()) < options_.max_evaluations) known.push_back(space_.repair(point));
    tell_all(std::move(known));
    while (found_.evaluations < options_.max_evaluations && !ended()) {
      const bool guaranteed = !found_.best && found_.evaluations < options_.min_evaluations;
      if (!guaranteed && options_.out_of_time()) break;
      Asked asked = ask();
      if (asked.made > 0) {
        if (!tell_made(asked.made)) break;
        continue;
      }
      if (asked.points.empty()) break;
      tell_all(std::move(asked.points));
    }
    if (found_.best && !has_errors(costs_.problems())) finalists_.choose(*executor_, options_, *found_.best);
    found_.exhausted = strategy_.exhausted() && whole_;
    found_.failure = strategy_.problems();
    remember(found_.failure, costs_.problems());
    found_.best_per_key = cheapest_of_keys(std::move(best_per_key_));
    return std::move(found_);
  }

 private:
  std::size_t most_at_once() const { return options_.one_by_one ? 1 : std::max(strategy_.batch(), std::size_t{1}); }
  bool ended() const {
    return found_.stopped || (!found_.best && found_.refused >= options_.max_refused) || has_errors(costs_.problems());
  }

  std::size_t left() const { return static_cast<std::size_t>(options_.max_evaluations - found_.evaluations); }

  Point repaired(Point point) const {
    const bool valid = strategy_.proposes_repaired() && in_space(point, space_.decisions());
    return valid ? std::move(point) : space_.repair(std::move(point));
  }

  /// A strategy that trains meanwhile is left at the end of the search.
  Asked ask() {
    const std::function<bool()> go_on = [this] { return goes_on(); };
    Permission permission(go_on);
    const PermissionScope scope(permission);
    try {
      if (const std::size_t made = options_.one_by_one ? 0 : strategy_.makes()) return {made, {}};
      return {0, next_points()};
    } catch (const EndedEarly&) {
      whole_ = false;
      return {};
    }
  }

  std::vector<Point> next_points() {
    std::vector<Point> points;
    while (points.size() < std::min(most_at_once(), left())) {
      auto point = strategy_.next();
      if (!point) break;
      if (point->choice.size() != space_.decisions().size())  // a slip of a user's strategy; repair completes it
        remember(found_.problems, {error(not_in_space(*point, space_.decisions()))});
      points.push_back(repaired(std::move(*point)));
    }
    return points;
  }

  double best_objective() const {
    return found_.best ? found_.best->objective : std::numeric_limits<double>::infinity();
  }
  void tell_progress() {
    if (options_.progress && !options_.progress(found_.evaluations, best_objective())) found_.stopped = true;
  }

  /// Between evaluations of a batch: the user's word, and the time limit.
  bool goes_on() {
    tell_progress();
    const bool guaranteed = !found_.best && found_.evaluations < options_.min_evaluations;
    return !found_.stopped && (guaranteed || !options_.out_of_time());
  }

  void tell_all(std::vector<Point> points) {
    const std::size_t asked = points.size();
    tell_all(evaluated(std::move(points)), asked);
  }

  /// A batch that its workers make; what exceeds the budget is not told. False: the batches without a new
  /// point are more than the budget has evaluations.
  bool tell_made(std::size_t count) {
    const PointMaker make = [&](std::size_t i) -> std::optional<Point> {
      auto point = strategy_.make(i);
      if (point) point = repaired(std::move(*point));
      return point;
    };
    std::vector<PointResult> results = executor_->submit_made(count, make, [this] { return goes_on(); });
    if (results.empty()) return goes_on() && ++empty_batches_ < options_.max_evaluations;
    empty_batches_ = 0;
    if (results.size() > left()) results.resize(left());
    const std::size_t asked = results.size();
    tell_all(std::move(results), asked);
    return true;
  }

  void tell_all(std::vector<PointResult> results, std::size_t asked) {
    std::size_t told = 0;
    refusals_.lower(results, best_objective());
    for (PointResult& one : results)
      if (!found_.stopped && !has_errors(costs_.problems())) tell(one), ++told;
    whole_ = whole_ && told == asked;
  }

  /// Of these points as many as are known when the search ends. Workers that would have nothing to do evaluate what is
  /// likely to be asked next.
  std::vector<PointResult> evaluated(std::vector<Point> points) {
    const std::vector<Point> guesses = guessed(points);
    if (guesses.empty() && ahead_.empty()) return executor_->submit(std::move(points), [this] { return goes_on(); });
    const auto is_known = [&](const Point& point) { return ahead_.contains(point.choice); };
    std::vector<Point> missing;
    std::remove_copy_if(points.begin(), points.end(), std::back_inserter(missing), is_known);
    const bool asks = !missing.empty();
    missing.insert(missing.end(), guesses.begin(), guesses.end());
    if (asks)
      for (PointResult& one : executor_->submit(std::move(missing), [this] { return goes_on(); }))
        ahead_.insert_or_assign(one.point.choice, std::move(one));
    std::vector<PointResult> results;
    for (const Point& point : points) {
      const auto known = ahead_.find(point.choice);
      if (known == ahead_.end()) break;  // the search has ended before
      results.push_back(known->second);
    }
    for (const Point& point : points) ahead_.erase(point.choice);
    if (ahead_.size() > most_ahead) ahead_.clear();
    return results;
  }

  /// One for each worker that gets no point in the last round.
  std::vector<Point> guessed(const std::vector<Point>& points) const {
    const std::size_t unknown = static_cast<std::size_t>(std::count_if(
        points.begin(), points.end(), [&](const Point& point) { return !ahead_.contains(point.choice); }));
    const std::size_t idle = (jobs_ - unknown % jobs_) % jobs_;
    if (unknown == 0 || idle == 0 || options_.one_by_one) return {};
    std::vector<Point> guesses = strategy_.likely(idle + most_known);
    std::erase_if(guesses, [&](const Point& point) {
      return ahead_.contains(point.choice) || !in_space(point, space_.decisions());
    });
    if (guesses.size() > idle) guesses.resize(idle);
    return guesses;
  }

  void tell(PointResult& at) {
    Trial trial;
    trial.statement = space_.statement();
    trial.number = ++found_.evaluations;
    trial.space = &space_;
    trial.point = &at.point;
    if (at.cost) score(at, trial);
    remember(found_.problems, at.problems);
    if (!at.problems.empty()) trial.problem = at.problems.front().message;
    strategy_.report(at.point, trial.objective);
    if (options_.watch) options_.watch(trial);
    if (trial.objective) finalists_.keep(at.point, *trial.objective);
    if (trial.objective && options_.runner_up_if && options_.runner_up_if(space_.mapping_of(at.point)))
      keep_runner_up(at, *trial.objective, trial.best);
    if (trial.objective && options_.key) keep_best_of_key(at, *trial.objective);
    if (trial.best) found_.best = Scored{*trial.objective, at.point, std::move(*at.nest), std::move(*at.cost)};
    tell_progress();
  }

  void keep_runner_up(PointResult& at, double objective, bool holds) {
    if (found_.runner_up && objective >= found_.runner_up->objective) return;
    complete(at);
    if (!at.nest || !at.cost || (!holds && options_.refuse && has_errors(options_.refuse(*at.nest)))) return;
    found_.runner_up = Scored{objective, at.point, *at.nest, *at.cost};
  }

  /// With its nest and all terms of its cost.
  void complete(PointResult& at) {
    if (at.nest && !at.elsewhere) return;
    executor_->complete(at);
    at.elsewhere = false;
  }

  void keep_best_of_key(PointResult& at, double objective) {
    if (at.elsewhere && !at.nest)
      if (auto nest = space_.build(at.point)) at.nest = std::move(*nest);
    if (!at.nest) return;
    const std::string key = options_.key(*at.nest);
    const auto known = best_per_key_.find(key);
    if (known != best_per_key_.end() && objective >= known->second.objective) return;
    complete(at);
    best_per_key_.insert_or_assign(key, Scored{objective, at.point, *at.nest, *at.cost});
  }

  void score(PointResult& at, Trial& trial) {
    double objective = value(*at.cost, options_.objective);
    if (options_.noise) objective = options_.noise(trial.number, objective);
    const bool best = !found_.best || objective < found_.best->objective;
    if (best) complete(at);
    if (!at.problems.empty()) {
      trial.problem = at.problems.front().message;
      return;
    }
    if (best && options_.refuse)
      if (const Diagnostics refused = refusals_.of(at); has_errors(refused)) {
        ++found_.refused;
        remember(found_.refusals, refused);
        trial.problem = refused.front().message;
        return;
      }
    ++found_.legal;
    trial.nest = at.nest ? &*at.nest : nullptr;
    trial.cost = &*at.cost;
    trial.objective = objective;
    trial.best = best;
    if (best) found_.curve.emplace_back(trial.number, objective);
  }

  const SearchSpace& space_;
  SearchStrategy& strategy_;
  const CostModelFactory& costs_;
  const LoopOptions& options_;
  std::shared_ptr<Workers> workers_;
  RefusalsAhead refusals_;
  std::unique_ptr<Executor> executor_;
  std::size_t jobs_ = 1;
  std::int64_t empty_batches_ = 0;                 ///< made without a new point, in a row
  bool whole_ = true;                              ///< every point that was asked has been told
  std::map<std::vector<int>, PointResult> ahead_;  ///< by choice: evaluated, not yet asked
  Found found_;
  Finalists finalists_{options_.finalists};
  std::map<std::string, Scored> best_per_key_;
};

}  // namespace

void remember(Diagnostics& list, const Diagnostics& problems) {
  for (const Diagnostic& d : problems) {
    const bool known =
        std::any_of(list.begin(), list.end(), [&](const Diagnostic& o) { return o.message == d.message; });
    if (!known && list.size() < most_kept) list.push_back(d);
  }
}

Result<std::unique_ptr<CostModel>> CostModelFactory::operator()(const SearchSpace& space) const {
  if (auto made = make_(space)) return made;
  return error("the cost model factory returned no model");
}

Diagnostics not_a_cost(const Cost& cost) {
  const auto wrong = [](double number) { return !(number >= 0) || std::isinf(number); };
  for (const auto& [name, number] : {std::pair("cycles", cost.cycles), std::pair("scalar_cycles", cost.scalar_cycles),
                                     std::pair("energy_pJ", cost.energy_pJ), std::pair("bytes", cost.bytes)})
    if (wrong(number))
      return {error(fmt::format("the cost model gives {} = {}; a cost is a finite number of at least 0", name, number),
                    "diagnostics say that a schedule has no cost")};
  return {};
}

Result<Cost> checked_estimate(CostModel& model, const Candidate& candidate) {
  auto cost = model.estimate(candidate);
  if (!cost) return cost;
  if (Diagnostics wrong = not_a_cost(*cost); !wrong.empty()) return wrong;
  return cost;
}

Result<Cost> checked_fine_estimate(CostModel& model, const Candidate& candidate) {
  auto cost = checked_estimate(model, candidate);
  if (!cost) return cost;
  auto finer = model.refine(candidate, *cost);
  if (!finer) return cost;
  if (Diagnostics wrong = not_a_cost(*finer); !wrong.empty()) return wrong;
  return std::move(*finer);
}

Found search(const SearchSpace& space, SearchStrategy& strategy, const CostModelFactory& costs,
             const LoopOptions& options) {
  return SearchLoop(space, strategy, costs, options).run();
}

}  // namespace isamap
