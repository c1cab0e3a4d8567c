// SPDX-License-Identifier: Apache-2.0
// Points of one batch are evaluated concurrently and told in the order in which they were asked, so a strategy sees the
// same results for any number of threads.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>

#include "isamap/search.h"
#include "scheduler/space/point_check.h"
#include "support/threads.h"

namespace isamap {

namespace {

constexpr std::size_t most_kept = 12, most_threads = 1024;

struct Evaluated {
  Point point;
  std::optional<Nest> nest;
  std::optional<Cost> cost;
  Diagnostics problems;
};

/// A cost model and what it knows of the space. Of one thread.
struct Pricing {
  std::unique_ptr<CostModel> model;
  std::shared_ptr<StatementFacts> facts;
};

void price(const SearchSpace& space, const Pricing& pricing, Evaluated& at) {
  auto nest = space.build(at.point);
  if (!nest) {
    at.problems = nest.diagnostics();
    return;
  }
  at.nest = std::move(*nest);
  auto cost = checked_estimate(
      *pricing.model, {&space.kernel(), space.statement(), &space.model(), *at.nest, pricing.facts});
  if (cost)
    at.cost = std::move(*cost);
  else
    at.problems = cost.diagnostics();
}

/// Without a nest if the model allows it.
void evaluate(const SearchSpace& space, const Pricing& pricing, bool with_nest, Evaluated& at) {
  if (!with_nest)
    if (const auto point = space.hierarchy_point(at.point)) at.cost = pricing.model->quick_estimate(*point);
  if (at.cost) at.problems = not_a_cost(*at.cost);
  if (!at.problems.empty()) at.cost.reset();
  if (!at.cost && at.problems.empty()) price(space, pricing, at);
}

class SearchLoop {
 public:
  SearchLoop(const SearchSpace& space, SearchStrategy& strategy, const CostModelFactory& costs,
             const LoopOptions& options)
      : space_(space), strategy_(strategy), costs_(costs), options_(options) {
    const int most = static_cast<int>(std::min(most_at_once(), most_threads));
    const int threads = std::clamp(options.threads, 1, most);
    for (int t = 0; t < threads; ++t) {
      auto made = costs(space);
      if (made)
        models_.push_back({std::move(*made), statement_facts(space.kernel(), space.statement(), space.model())});
      else
        found_.failure = made.diagnostics();
    }
  }

  Found run() {
    if (has_errors(found_.failure)) return std::move(found_);
    for (const Point& point : options_.known)
      if (found_.evaluations < options_.max_evaluations && !ended()) tell_all({space_.repair(point)});
    while (found_.evaluations < options_.max_evaluations && !ended()) {
      const bool guaranteed = !found_.best && found_.evaluations < options_.min_evaluations;
      if (!guaranteed && options_.out_of_time()) break;
      std::vector<Point> points = ask();
      if (points.empty()) break;
      tell_all(std::move(points));
    }
    found_.exhausted = strategy_.exhausted();
    found_.failure = strategy_.problems();
    remember(found_.failure, costs_.problems());
    for (auto& [key, best] : best_per_key_) found_.best_per_key.push_back(std::move(best));
    std::stable_sort(found_.best_per_key.begin(), found_.best_per_key.end(),
                     [](const Scored& a, const Scored& b) { return a.objective < b.objective; });
    if (found_.best_per_key.size() > most_keys) found_.best_per_key.resize(most_keys);
    return std::move(found_);
  }

 private:
  std::size_t most_at_once() const { return std::max(strategy_.batch(), std::size_t{1}); }
  bool ended() const { return found_.stopped || has_errors(costs_.problems()); }

  std::vector<Point> ask() {
    const auto left = static_cast<std::size_t>(options_.max_evaluations - found_.evaluations);
    std::vector<Point> points;
    while (points.size() < std::min(most_at_once(), left)) {
      auto point = strategy_.next();
      if (!point) break;
      const bool valid = strategy_.proposes_repaired() && in_space(*point, space_.decisions());
      points.push_back(valid ? std::move(*point) : space_.repair(std::move(*point)));
    }
    return points;
  }

  void tell_all(std::vector<Point> points) {
    std::vector<Evaluated> batch(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) batch[i].point = std::move(points[i]);
    std::atomic<std::size_t> next{0};
    side_by_side(std::min(models_.size(), batch.size()), [&](std::size_t t) {
      for (std::size_t i = next++; i < batch.size(); i = next++)
        evaluate(space_, models_[t], options_.watch_nests, batch[i]);
    });
    if (has_errors(costs_.problems())) return;  // the last costs are unknown
    for (Evaluated& one : batch)
      if (!found_.stopped) tell(one);
  }

  void tell(Evaluated& at) {
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
    if (trial.objective && options_.runner_up_if && options_.runner_up_if(space_.mapping_of(at.point)))
      keep_runner_up(at, *trial.objective, trial.best);
    if (trial.objective && options_.key && at.nest) keep_best_of_key(at, *trial.objective);
    if (trial.best) found_.best = Scored{*trial.objective, at.point, std::move(*at.nest), std::move(*at.cost)};
    const double best = found_.best ? found_.best->objective : std::numeric_limits<double>::infinity();
    if (options_.progress && !options_.progress(found_.evaluations, best)) found_.stopped = true;
  }

  void keep_runner_up(Evaluated& at, double objective, bool holds) {
    if (found_.runner_up && objective >= found_.runner_up->objective) return;
    if (!at.nest) price(space_, models_.front(), at);
    if (!at.nest || !at.cost || (!holds && options_.refuse && has_errors(options_.refuse(*at.nest)))) return;
    found_.runner_up = Scored{objective, at.point, *at.nest, *at.cost};
  }

  void keep_best_of_key(const Evaluated& at, double objective) {
    const std::string key = options_.key(*at.nest);
    const auto known = best_per_key_.find(key);
    if (known != best_per_key_.end() && objective >= known->second.objective) return;
    best_per_key_.insert_or_assign(key, Scored{objective, at.point, *at.nest, *at.cost});
  }

  void score(Evaluated& at, Trial& trial) {
    double objective = value(*at.cost, options_.objective);
    if (options_.noise) objective = options_.noise(trial.number, objective);
    const bool best = !found_.best || objective < found_.best->objective;
    if (best && !at.nest) price(space_, models_.front(), at);
    if (!at.problems.empty()) {
      trial.problem = at.problems.front().message;
      return;
    }
    if (best && options_.refuse)
      if (const Diagnostics refused = options_.refuse(*at.nest); has_errors(refused)) {
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
  std::vector<Pricing> models_;  ///< by thread
  Found found_;
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

Found search(const SearchSpace& space, SearchStrategy& strategy, const CostModelFactory& costs,
             const LoopOptions& options) {
  return SearchLoop(space, strategy, costs, options).run();
}

}  // namespace isamap
