// SPDX-License-Identifier: Apache-2.0
#include "lab/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "isamap/interpret.h"

namespace isamap::lab {

namespace {

constexpr int resamples = 200;

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

/// Bootstraps `statistic`: for each instance it receives trial numbers drawn with replacement.
template <class Statistic>
Interval bootstrap(const std::vector<std::size_t>& counts, const Statistic& statistic) {
  std::vector<std::vector<std::size_t>> chosen(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    for (std::size_t s = 0; s < counts[i]; ++s) chosen[i].push_back(s);
  Interval interval;
  interval.value = statistic(chosen);
  Random random(1);
  std::vector<double> values;
  for (int r = 0; r < resamples; ++r) {
    for (std::size_t i = 0; i < counts.size(); ++i)
      for (std::size_t& s : chosen[i])
        s = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(counts[i]) - 1));
    values.push_back(statistic(chosen));
  }
  interval.low = percentile(values, 0.025);
  interval.high = percentile(values, 0.975);
  return interval;
}

const std::vector<double>& distribution_gaps() {
  static const std::vector<double> list = [] {
    std::vector<double> made;
    for (int i = 0; i <= 40; ++i) made.push_back(std::pow(10.0, -i / 10.0));
    made.push_back(0);
    return made;
  }();
  return list;
}

double spent(const TrialResult& trial, double optimum, double gap, bool& success) {
  const auto at = Study::hit(trial, optimum, gap);
  success = at.has_value();
  return static_cast<double>(at ? *at : trial.evaluations);
}

}  // namespace

Study::Study(const Trials& trials) : trials_(trials) {
  std::set<std::string> tried;
  for (const TrialResult& trial : trials.results) tried.insert(trial.strategy);
  for (const StrategyChoice& strategy : trials.options.strategies)
    (tried.contains(strategy.text) ? strategies_ : untried_).push_back(strategy.text);
  by_.assign(trials.instances.size(), std::vector<std::vector<const TrialResult*>>(strategies_.size()));
  std::map<std::string, std::size_t> instance_at, strategy_at;
  for (std::size_t i = 0; i < trials.instances.size(); ++i) instance_at[trials.instances[i].name] = i;
  for (std::size_t s = 0; s < strategies_.size(); ++s) strategy_at[strategies_[s]] = s;
  std::vector<double> least(trials.instances.size(), std::numeric_limits<double>::infinity());
  for (const TrialResult& trial : trials.results) {
    const auto i = instance_at.find(trial.instance);
    const auto s = strategy_at.find(trial.strategy);
    if (i == instance_at.end() || s == strategy_at.end()) continue;
    by_[i->second][s->second].push_back(&trial);
    for (const auto& [evaluations, objective] : trial.curve) least[i->second] = std::min(least[i->second], objective);
  }
  for (std::size_t i = 0; i < least.size(); ++i) {
    const InstanceFacts& facts = trials.instances[i];
    const double stated = facts.optimum.value_or(least[i]);
    optima_.push_back(facts.proof.empty() ? std::min(stated, least[i]) : stated);
  }
}

std::vector<std::string> Study::beaten() const {
  std::set<std::string> names;
  for (std::size_t i = 0; i < by_.size(); ++i)
    for (const auto& trials : by_[i])
      for (const TrialResult* trial : trials)
        for (const auto& [evaluations, objective] : trial->curve)
          if (objective < optima_[i] * (1 - equal_enough)) names.insert(trials_.instances[i].name);
  return {names.begin(), names.end()};
}

const std::vector<const TrialResult*>& Study::trials(std::size_t instance, std::size_t strategy) const {
  return by_[instance][strategy];
}

double Study::ratio(std::size_t instance, const TrialResult& trial, std::int64_t evaluations) const {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [at, objective] : trial.curve)
    if (at <= evaluations) best = std::min(best, objective);
  const double optimum = optima_[instance];
  if (!std::isfinite(best)) return worst_ratio;  // also where no strategy has found a legal point
  if (optimum <= 0) return best <= 0 ? 1 : worst_ratio;
  return std::clamp(best / optimum, 1.0, worst_ratio);
}

std::optional<std::int64_t> Study::hit(const TrialResult& trial, double optimum, double gap) {
  for (const auto& [evaluations, objective] : trial.curve)
    if (objective <= optimum * (1 + gap) * (1 + equal_enough)) return evaluations;
  return std::nullopt;
}

std::optional<double> Study::expected_running_time(std::size_t instance, std::size_t strategy, double gap) const {
  double sum = 0, successes = 0;
  for (const TrialResult* trial : by_[instance][strategy]) {
    bool success = false;
    sum += spent(*trial, optima_[instance], gap, success);
    successes += success ? 1 : 0;
  }
  return successes > 0 ? std::optional(sum / successes) : std::nullopt;
}

Interval Study::quality(std::size_t strategy, std::int64_t evaluations, const std::string& group) const {
  std::vector<std::vector<double>> logs;
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < by_.size(); ++i) {
    if (by_[i][strategy].empty() || (!group.empty() && trials_.instances[i].group != group)) continue;
    logs.emplace_back();
    for (const TrialResult* trial : by_[i][strategy]) logs.back().push_back(std::log(ratio(i, *trial, evaluations)));
    counts.push_back(logs.back().size());
  }
  if (counts.empty()) return {worst_ratio, worst_ratio, worst_ratio};
  return bootstrap(counts, [&](const std::vector<std::vector<std::size_t>>& chosen) {
    double sum = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      double mean = 0;
      for (const std::size_t s : chosen[i]) mean += logs[i][s] / static_cast<double>(chosen[i].size());
      sum += mean / static_cast<double>(chosen.size());
    }
    return std::exp(sum);
  });
}

double Study::reached(std::size_t strategy, std::int64_t evaluations) const {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < by_.size(); ++i)
    for (const TrialResult* trial : by_[i][strategy])
      for (const double gap : distribution_gaps()) {
        const auto at = hit(*trial, optima_[i], gap);
        sum += at && *at <= evaluations ? 1 : 0;
        all += 1;
      }
  return all > 0 ? sum / all : 0;
}

Interval Study::profile(std::size_t strategy, double factor, double gap) const {
  std::vector<std::size_t> counts;
  std::vector<std::size_t> used;
  std::vector<double> least;
  for (std::size_t i = 0; i < by_.size(); ++i) {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < strategies_.size(); ++s)
      best = std::min(best, expected_running_time(i, s, gap).value_or(best));
    if (by_[i][strategy].empty()) continue;
    used.push_back(i);
    least.push_back(best);
    counts.push_back(by_[i][strategy].size());
  }
  if (counts.empty()) return {};
  return bootstrap(counts, [&](const std::vector<std::vector<std::size_t>>& chosen) {
    double share = 0;
    for (std::size_t i = 0; i < used.size(); ++i) {
      double sum = 0, successes = 0;
      for (const std::size_t s : chosen[i]) {
        bool success = false;
        sum += spent(*by_[used[i]][strategy][s], optima_[used[i]], gap, success);
        successes += success ? 1 : 0;
      }
      if (successes > 0 && sum / successes <= factor * least[i] * (1 + equal_enough)) share += 1;
    }
    return share / static_cast<double>(used.size());
  });
}

double Study::solved(std::size_t strategy, double gap, std::int64_t evaluations) const {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < by_.size(); ++i)
    for (const TrialResult* trial : by_[i][strategy]) {
      const auto at = hit(*trial, optima_[i], gap);
      sum += at && *at <= evaluations ? 1 : 0;
      all += 1;
    }
  return all > 0 ? sum / all : 0;
}

std::size_t Study::without_legal(std::size_t strategy) const {
  std::size_t count = 0;
  for (const auto& instance : by_)
    for (const TrialResult* trial : instance[strategy]) count += trial->curve.empty() ? 1 : 0;
  return count;
}

std::vector<std::string> Study::groups() const {
  std::vector<std::string> names;
  for (const InstanceFacts& instance : trials_.instances)
    if (std::find(names.begin(), names.end(), instance.group) == names.end()) names.push_back(instance.group);
  return names;
}

std::vector<std::int64_t> Study::marks() const {
  std::vector<std::int64_t> list;
  for (std::int64_t decade = 1; decade <= budget(); decade *= 10)
    for (const std::int64_t digit : {1, 2, 3, 5, 7})
      if (digit * decade <= budget()) list.push_back(digit * decade);
  if (list.empty() || list.back() != budget()) list.push_back(budget());
  return list;
}

}  // namespace isamap::lab
