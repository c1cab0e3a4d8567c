// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statistics of trials. Hansen, Auger, Ros, Mersmann, Tusar, Brockhoff, "COCO: a platform for comparing continuous
// optimizers in a black-box setting", 2021 (expected running time, empirical distributions); Dolan, More, "Benchmarking
// optimization software with performance profiles", 2002. Intervals: percentile bootstrap over the seeds, Efron 1979.

#include <optional>
#include <string>
#include <vector>

#include "lab/run.h"

namespace isamap::lab {

/// Ratio to the optimum while no legal point has been seen.
constexpr double worst_ratio = 10;
/// Gaps to the optimum for which running times are reported.
inline const std::vector<double> gaps{0.1, 0.01, 0.001, 0};

struct Interval {
  double value = 0, low = 0, high = 0;  ///< 95 %
};

/// Trials by instance and strategy, with reference optima. Every number is of the best so far under the true
/// objective, of the points that looked best to the strategy: under noise a later one may be worse.
class Study {
 public:
  explicit Study(const Trials& trials);

  const std::vector<std::string>& strategies() const { return strategies_; }  ///< with at least one trial
  /// The others: their turn had not come when the run was ended.
  const std::vector<std::string>& untried() const { return untried_; }
  const std::vector<InstanceFacts>& instances() const { return trials_.instances; }
  std::int64_t budget() const { return trials_.options.evaluations; }
  /// The stated optimum; if unproved, a better value found by a trial.
  double optimum(std::size_t instance) const { return optima_[instance]; }
  /// Instances where a trial beats the proved optimum: the proof is wrong.
  std::vector<std::string> beaten() const;
  const std::vector<const TrialResult*>& trials(std::size_t instance, std::size_t strategy) const;

  /// best / optimum after so many evaluations; worst_ratio at most.
  double ratio(std::size_t instance, const TrialResult& trial, std::int64_t evaluations) const;
  /// Evaluations until within `gap` of the optimum; nothing: never reached.
  static std::optional<std::int64_t> hit(const TrialResult& trial, double optimum, double gap);
  /// Evaluations spent by all trials until the target or their end, divided by the number that reached it.
  std::optional<double> expected_running_time(std::size_t instance, std::size_t strategy, double gap) const;

  /// Geometric mean over instances and seeds of best / optimum, with its interval. `group`: only those; empty: all.
  Interval quality(std::size_t strategy, std::int64_t evaluations, const std::string& group = "") const;
  /// Share of (instance, seed, gap) reached after so many evaluations; gaps from 100 % to 0.01 % and 0.
  double reached(std::size_t strategy, std::int64_t evaluations) const;
  /// Share of instances whose expected running time to `gap` is at most `factor` times the least of any strategy.
  Interval profile(std::size_t strategy, double factor, double gap) const;
  /// Share of (instance, seed) that ended within `gap`, and those without any legal point.
  double solved(std::size_t strategy, double gap, std::int64_t evaluations) const;
  std::size_t without_legal(std::size_t strategy) const;
  std::vector<std::string> groups() const;
  /// 1, 2, 3, 5, 7, 10, ... up to the budget: where curves are drawn.
  std::vector<std::int64_t> marks() const;

 private:
  const Trials& trials_;
  std::vector<std::string> strategies_, untried_;
  std::vector<double> optima_;
  std::vector<std::vector<std::vector<const TrialResult*>>> by_;  // instance, strategy
};

}  // namespace isamap::lab
