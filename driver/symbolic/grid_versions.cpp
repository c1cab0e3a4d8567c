// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/grid_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ir/symbolic/facts.h"

namespace isamap {
namespace {

constexpr int bisections = 6;
constexpr double crossover_steps = 12;                         // between two samples, where prices are compared
constexpr double surest_gain = 10;                             // of a price: infinite ones are illegal
constexpr std::int64_t most_bisected = std::int64_t{1} << 40;  // of a size
constexpr std::int64_t sampled_sizes[] = {1, 8, 37, 192, 509};
constexpr std::int64_t largest_sample = 1024;

SizeFact size_guard(const AffineExpr& measure, std::int64_t bound, bool at_most) {
  return {fmt::format("{} {} {}", print(measure), at_most ? "<=" : ">", bound),
          at_most ? AffineExpr(bound) - measure : measure - bound - 1,
          {}};
}

bool holds(const SampledGuard& guard, const Bindings& sizes) {
  const std::int64_t value = evaluate(guard.measure, sizes);
  return guard.at_most ? value <= guard.below : value >= guard.above;
}

bool serves(const GuardedSchedule& version, const Bindings& sizes) {
  return std::all_of(version.between.begin(), version.between.end(),
                     [&](const SampledGuard& guard) { return holds(guard, sizes); });
}

/// The one size that the measure grows with; nothing: it has several.
std::optional<std::string> size_of(const AffineExpr& measure) {
  const std::set<std::string> names = measure.names();
  return names.size() == 1 ? std::optional(*names.begin()) : std::nullopt;
}

/// The smallest value of its size where the measure is no less.
void set_to(std::int64_t value, const AffineExpr& measure, Bindings& sizes) {
  const std::string name = *size_of(measure);
  std::int64_t low = 0, high = 1;
  const auto is_less = [&](std::int64_t size) { return evaluate(measure, {{name, size}}) < value; };
  while (high < most_bisected && is_less(high)) low = high, high *= 2;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (is_less(middle) ? low : high) = middle;
  }
  sizes[name] = is_less(low) ? high : low;
}

/// Where a crossover is priced: under the other conditions.
std::vector<Bindings> crossover_sizes(const GuardedSchedule& version, std::size_t condition,
                                      const VersionQuestion& question) {
  std::vector<Bindings> found{question.samples.front()};
  if (!question.remainders.empty()) found.push_back(question.remainders);
  for (Bindings& sizes : found)
    for (std::size_t n = 0; n < version.between.size(); ++n) {
      const SampledGuard& other = version.between[n];
      if (n != condition && size_of(other.measure) && !holds(other, sizes))
        set_to(other.at_most ? (other.below + 1) / 2 : other.above, other.measure, sizes);  // amid what it serves
    }
  return found;
}

/// Values from `below` to `above`, the same factor apart, or one more each.
std::vector<std::int64_t> crossover_values(std::int64_t below, std::int64_t above) {
  std::vector<std::int64_t> values{below};
  const double factor =
      std::pow(static_cast<double>(above) / static_cast<double>(std::max<std::int64_t>(below, 1)), 1 / crossover_steps);
  while (values.back() < above) {
    const auto next = static_cast<std::int64_t>(static_cast<double>(values.back()) * factor);
    values.push_back(std::min(above, std::max(values.back() + 1, next)));
  }
  return values;
}

/// The last value of the measure of a condition on the side of `below`. Prices go up and down with what tiles leave, so
/// it is the one with which values up to `above` cost least together. `behind`: the versions that serve other sizes.
std::int64_t crossover(const GuardedSchedule& version, std::size_t condition,
                       const std::vector<GuardedSchedule>& behind, const VersionQuestion& question) {
  auto [measure, below, above, at_most] = version.between[condition];
  if (!size_of(measure)) return below;
  // Up to a sample that it serves: under other conditions none may have a value next to the bound.
  std::vector<std::int64_t> served;
  for (const Bindings& sample : question.samples)
    if (serves(version, sample)) served.push_back(evaluate(measure, sample));
  if (at_most && !served.empty()) below = *std::max_element(served.begin(), served.end());
  if (!at_most && !served.empty()) above = *std::min_element(served.begin(), served.end());
  std::vector<Bindings> at = crossover_sizes(version, condition, question);
  // Of the bound on the other side of this value.
  const auto gain = [&](std::int64_t value) {
    double sum = 0;
    for (Bindings& sizes : at) {
      set_to(value, measure, sizes);
      const std::size_t other = behind[serving(behind, sizes)].schedule;
      sum += std::log(std::max(question.price(other, sizes), 1.0)) - std::log(question.price(version.schedule, sizes));
    }
    if (std::isnan(sum)) return -surest_gain;
    return std::clamp(at_most ? sum : -sum, -surest_gain, surest_gain);
  };
  const std::vector<std::int64_t> values = crossover_values(below, above);
  std::size_t last = 0;
  double sum = 0, most = 0;
  for (std::size_t n = 1; n + 1 < values.size(); ++n)
    if (sum += gain(values[n]); sum >= most) most = sum, last = n;
  below = values[last];
  if (last + 1 < values.size()) above = values[last + 1];
  for (int n = 0; n < bisections && above - below > 1; ++n) {
    const std::int64_t middle = below + (above - below) / 2;
    (gain(middle) >= 0 ? below : above) = middle;
  }
  return below;
}

/// One or two conditions on different measures, and the samples where they hold.
struct SampledConditions {
  std::vector<SampledGuard> guards;
  std::vector<std::size_t> served;
};

/// Each condition is between two values of a measure at samples.
std::vector<SampledGuard> single_conditions(const VersionQuestion& question) {
  std::vector<SampledGuard> conditions;
  for (const AffineExpr& measure : question.measures) {
    std::set<std::int64_t> values;
    for (const Bindings& sizes : question.samples) values.insert(evaluate(measure, sizes));
    for (auto value = values.begin(); value != values.end() && std::next(value) != values.end(); ++value)
      for (const bool at_most : {true, false}) conditions.push_back({measure, *value, *std::next(value), at_most});
  }
  return conditions;
}

/// Single ones first. Of those that hold at the same samples the first one.
std::vector<SampledConditions> conditions_of(const VersionQuestion& question) {
  const std::vector<SampledGuard> single = single_conditions(question);
  std::vector<SampledConditions> found;
  std::set<std::vector<std::size_t>> known;
  const auto add = [&](std::vector<SampledGuard> guards) {
    SampledConditions one{std::move(guards), {}};
    for (std::size_t s = 0; s < question.samples.size(); ++s)
      if (std::all_of(one.guards.begin(), one.guards.end(),
                      [&](const SampledGuard& guard) { return holds(guard, question.samples[s]); }))
        one.served.push_back(s);
    if (!one.served.empty() && known.insert(one.served).second) found.push_back(std::move(one));
  };
  for (const SampledGuard& one : single) add({one});
  for (std::size_t a = 0; a < single.size(); ++a)
    for (std::size_t b = a + 1; b < single.size(); ++b)
      if (single[a].measure != single[b].measure) add({single[a], single[b]});
  return found;
}

class VersionChoice {
 public:
  VersionChoice(const VersionQuestion& question, const VersionOptions& options)
      : question_(question), options_(options), conditions_(conditions_of(question)) {
    for (std::size_t s = 0; s < question.samples.size(); ++s) {
      double best = std::numeric_limits<double>::max();
      for (const auto& costs : question.costs) best = std::min(best, costs[s]);
      best_.push_back(best);
    }
  }

  std::vector<GuardedSchedule> run() {
    for (std::size_t c = 0; c < question_.costs.size(); ++c)
      if (chosen_.empty() || regret({{c}}) < regret(chosen_)) chosen_ = {{c}};
    do {
      while (static_cast<int>(chosen_.size()) < options_.most && add_best()) {
      }
    } while (replace_last());
    return std::move(chosen_);
  }

 private:
  using Ratios = std::vector<double>;  // by sample

  double ratio(std::size_t schedule, std::size_t sample) const {
    return question_.costs[schedule][sample] / best_[sample];
  }
  Ratios ratios(const std::vector<GuardedSchedule>& versions) const {
    Ratios found;
    for (std::size_t s = 0; s < question_.samples.size(); ++s)
      found.push_back(ratio(versions[serving(versions, question_.samples[s])].schedule, s));
    return found;
  }
  /// The mean over the samples with its share of the worst.
  double sampled_regret(const Ratios& ratios) const {
    const std::size_t count = ratios.size();
    const bool weighted = question_.begins_likely && count > 1;
    const double others =
        weighted ? (1 - options_.likely_share) / static_cast<double>(count - 1) : 1.0 / static_cast<double>(count);
    double mean = 0, worst = 1;
    for (std::size_t s = 0; s < count; ++s) {
      mean += ratios[s] * (s == 0 && weighted ? options_.likely_share : others);
      worst = std::max(worst, ratios[s]);
    }
    return mean + options_.worst_share * (worst - 1);
  }
  double sampled_regret(const std::vector<GuardedSchedule>& versions) const { return sampled_regret(ratios(versions)); }

  /// What the code of a schedule is worth.
  double worth(std::size_t schedule) const {
    return question_.blocks.empty() ? 0 : options_.block_worth * question_.blocks[schedule];
  }
  double regret(const std::vector<GuardedSchedule>& versions) const {
    double code = 0;
    for (const GuardedSchedule& version : versions) code += worth(version.schedule);
    return sampled_regret(versions) + code;
  }

  /// Beside guarded versions another schedule may be better for all other sizes, not only shorter. False: none is.
  bool replace_last() {
    std::vector<GuardedSchedule> best = chosen_;
    for (std::size_t c = 0; c < question_.costs.size(); ++c) {
      std::vector<GuardedSchedule> tried = chosen_;
      tried.back().schedule = c;
      if (sampled_regret(tried) < sampled_regret(chosen_) && regret(tried) < regret(best)) best = std::move(tried);
    }
    if (!(regret(best) < regret(chosen_))) return false;
    chosen_ = std::move(best);
    return true;
  }

  /// A guarded schedule beside those that are chosen.
  struct Trial {
    Ratios before;    ///< of those
    double code = 0;  ///< of theirs
    double least = 0;
    std::optional<GuardedSchedule> best = {};  ///< whose regret is `least`
  };
  /// Each schedule under these conditions.
  void try_under(const SampledConditions& conditions, Trial& trial) const {
    for (std::size_t c = 0; c < question_.costs.size(); ++c) {
      Ratios tried = trial.before;
      for (const std::size_t sample : conditions.served) tried[sample] = ratio(c, sample);
      const double more = conditions.guards.size() > 1 ? options_.version_worth : 0;
      const double now = sampled_regret(tried) + trial.code + worth(c) + more;
      if (!(now < trial.least)) continue;
      trial.least = now;
      trial.best = {c, {}, conditions.guards};
      for (const SampledGuard& guard : conditions.guards)
        trial.best->when.push_back(size_guard(guard.measure, guard.below, guard.at_most));
    }
  }

  /// The guarded schedule that lowers the regret most; false: none is worth its code.
  bool add_best() {
    Trial trial{ratios(chosen_)};
    trial.code = regret(chosen_) - sampled_regret(trial.before);
    trial.least = regret(chosen_) - options_.version_worth;
    for (const SampledConditions& one : conditions_) try_under(one, trial);
    if (trial.best) chosen_.insert(chosen_.begin(), *trial.best);
    return trial.best.has_value();
  }

  const VersionQuestion& question_;
  const VersionOptions& options_;
  std::vector<SampledConditions> conditions_;
  std::vector<double> best_;
  std::vector<GuardedSchedule> chosen_;
};

}  // namespace

std::size_t serving(const std::vector<GuardedSchedule>& versions, const Bindings& sizes) {
  std::size_t v = 0;
  const auto serves = [&](const SizeFact& fact) { return evaluate(fact.nonnegative, sizes) >= 0; };
  while (v + 1 < versions.size() && !std::all_of(versions[v].when.begin(), versions[v].when.end(), serves)) ++v;
  return v;
}

std::vector<GuardedSchedule> choose_versions(const VersionQuestion& question, const VersionOptions& options) {
  return VersionChoice(question, options).run();
}

std::vector<GuardedSchedule> at_crossovers(std::vector<GuardedSchedule> versions, const VersionQuestion& question) {
  std::vector<GuardedSchedule> behind;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    for (std::size_t n = 0; n < version->between.size(); ++n) {
      const SampledGuard& guard = version->between[n];
      version->when[n] = size_guard(guard.measure, crossover(*version, n, behind, question), guard.at_most);
    }
    behind.insert(behind.begin(), *version);
  }
  return versions;
}

namespace {

/// These sizes, or some that satisfy the facts.
Bindings allowed_sizes(const SymbolicKernel& kernel, Bindings sizes) {
  for (const SymbolicSize& size : kernel.facts.sizes) {
    std::int64_t& value = sizes[size.name];
    value = std::clamp(value / size.multiple_of * size.multiple_of, size.min, size.max);
  }
  return broken_fact(kernel.facts, sizes) ? Facts(kernel.facts).example(sizes).value_or(kernel.at) : sizes;
}

}  // namespace

Bindings sizes_with_remainders(const SymbolicKernel& kernel) {
  Bindings sizes = kernel.at;
  for (auto& [name, value] : sizes)
    if (value > 8) value = value * 3 / 8 | 1;
  return allowed_sizes(kernel, std::move(sizes));
}

std::vector<Bindings> sample_sizes(const SymbolicKernel& kernel, const VersionOptions& options) {
  std::vector<Bindings> samples;
  const auto add = [&](const Bindings& wanted) {
    const Bindings sizes = allowed_sizes(kernel, wanted);
    if (samples.size() < options.most_samples && std::find(samples.begin(), samples.end(), sizes) == samples.end())
      samples.push_back(sizes);
  };
  add(kernel.at);
  for (const SymbolicSize& size : kernel.facts.sizes)
    for (const std::int64_t likely : size.likely) {
      Bindings sizes = kernel.at;
      sizes[size.name] = likely;
      add(sizes);
    }
  for (const std::int64_t value : sampled_sizes) {
    Bindings sizes;
    for (const SymbolicSize& size : kernel.facts.sizes) sizes[size.name] = value;
    add(sizes);
  }
  // Of an odd number: tiles leave some.
  std::vector<std::int64_t> few;
  for (const std::int64_t positions : options.few) few.push_back((positions - 1) | 1);
  // All but one: a schedule for short sums of few elements would be chosen for long sums of few elements.
  for (const SymbolicSize& likely : kernel.facts.sizes) {
    Bindings sizes;
    for (const SymbolicSize& size : kernel.facts.sizes) sizes[size.name] = 1;
    sizes[likely.name] = kernel.at.at(likely.name);
    add(sizes);
  }
  // One alone, too: where all are one, a schedule that is best for one column would be chosen for one row of many.
  std::vector<std::int64_t> single = few;
  single.insert(single.end(), {1, largest_sample});
  for (const std::int64_t value : single)
    for (const SymbolicSize& size : kernel.facts.sizes) {
      Bindings sizes = kernel.at;
      sizes[size.name] = value;
      add(sizes);
    }
  return samples;
}

}  // namespace isamap
