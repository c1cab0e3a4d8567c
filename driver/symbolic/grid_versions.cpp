// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/grid_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "ir/symbolic/facts.h"

namespace isamap {
namespace {

constexpr int bisections = 6;
constexpr std::int64_t sampled_sizes[] = {1, 8, 37, 192, 509};
constexpr std::int64_t largest_sample = 1024;

SizeFact size_guard(const AffineExpr& measure, std::int64_t bound, bool at_most) {
  return {fmt::format("{} {} {}", print(measure), at_most ? "<=" : ">", bound),
          at_most ? AffineExpr(bound) - measure : measure - bound - 1,
          {}};
}

/// The last value of the measure, from `below` on and before `above`, on the side of `below`: the likely sizes with one
/// of them changed are priced. `behind`: the versions that serve other sizes.
std::int64_t crossover(const GuardedSchedule& version, const std::vector<GuardedSchedule>& behind,
                       const VersionQuestion& question) {
  auto [measure, below, above, at_most] = *version.between;
  const auto name = measure.as_dim();
  for (int n = 0; name && n < bisections && above - below > 1; ++n) {
    Bindings sizes = question.samples.front();
    const std::int64_t middle = below + (above - below) / 2;
    sizes[*name] = middle;
    const std::size_t other = behind[serving(behind, sizes)].schedule;
    const bool wins = question.price(version.schedule, sizes) <= question.price(other, sizes);
    (wins == at_most ? below : above) = middle;
  }
  return below;
}

class VersionChoice {
 public:
  VersionChoice(const VersionQuestion& question, const VersionOptions& options)
      : question_(question), options_(options) {
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

  /// The guarded schedule that lowers the regret most; false: none is worth its code.
  bool add_best() {
    std::optional<GuardedSchedule> best;
    const Ratios before = ratios(chosen_);
    const double code = regret(chosen_) - sampled_regret(before);
    double least = regret(chosen_) - options_.worthwhile;
    for (const AffineExpr& measure : question_.measures) {
      std::vector<std::int64_t> at;  // by sample
      for (const Bindings& sizes : question_.samples) at.push_back(evaluate(measure, sizes));
      const std::set<std::int64_t> values(at.begin(), at.end());
      for (auto value = values.begin(); value != values.end() && std::next(value) != values.end(); ++value)
        for (std::size_t c = 0; c < question_.costs.size(); ++c)
          for (const bool at_most : {true, false}) {
            Ratios tried = before;
            for (std::size_t s = 0; s < tried.size(); ++s)
              if ((at[s] <= *value) == at_most) tried[s] = ratio(c, s);
            const double now = sampled_regret(tried) + code + worth(c);
            if (!(now < least)) continue;
            least = now;
            best = {
                c, {size_guard(measure, *value, at_most)}, SampledGuard{measure, *value, *std::next(value), at_most}};
          }
    }
    if (best) chosen_.insert(chosen_.begin(), *best);
    return best.has_value();
  }

  const VersionQuestion& question_;
  const VersionOptions& options_;
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
    if (version->between) {
      const SampledGuard& guard = *version->between;
      version->when = {size_guard(guard.measure, crossover(*version, behind, question), guard.at_most)};
    }
    behind.insert(behind.begin(), *version);
  }
  return versions;
}

std::vector<Bindings> sample_sizes(const SymbolicKernel& kernel, const VersionOptions& options) {
  const Facts facts(kernel.facts);
  std::vector<Bindings> samples;
  const auto add = [&](Bindings sizes) {
    for (const SymbolicSize& size : kernel.facts.sizes) {
      std::int64_t& value = sizes[size.name];
      value = std::clamp(value / size.multiple_of * size.multiple_of, size.min, size.max);
    }
    if (broken_fact(kernel.facts, sizes)) sizes = facts.example(sizes).value_or(kernel.at);
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
  // One alone, too: where all are one, a schedule that is best for one column would be chosen for one row of many.
  std::vector<std::int64_t> single = options.few;
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
