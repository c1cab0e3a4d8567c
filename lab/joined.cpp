// SPDX-License-Identifier: Apache-2.0
// Several files of trials as one: parts of a run that were computed on several machines.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "lab/run.h"
#include "lab/trial_json.h"

namespace isamap::lab {
namespace {

/// What keeps two files from being parts of one run; empty: nothing.
std::string conflict(const RunOptions& a, const RunOptions& b) {
  if (a.evaluations != b.evaluations)
    return fmt::format("its budget is {} evaluations, the others have {}", b.evaluations, a.evaluations);
  if (a.cost != b.cost) return fmt::format("its cost model is {}, the others have {}", b.cost, a.cost);
  return "";
}

std::string text_of(const std::optional<double>& optimum) { return optimum ? fmt::format("{}", *optimum) : "none"; }

/// What differs between the instances; empty: nothing.
std::string difference(const InstanceFacts& a, const InstanceFacts& b) {
  std::vector<std::string> found;
  const auto compare = [&](const char* what, const auto& mine, const auto& theirs) {
    if (mine != theirs) found.push_back(fmt::format("its {} is {}, there {}", what, theirs, mine));
  };
  compare("group", a.group, b.group);
  if (a.kernel_hash != b.kernel_hash) found.emplace_back("its kernel is another");
  compare("target", a.target, b.target);
  if (a.target == b.target && a.target_hash != b.target_hash)
    found.emplace_back("its hardware file has another text or other parameters");
  compare("space", fmt::format("[{}]", fmt::join(a.space, ", ")), fmt::format("[{}]", fmt::join(b.space, ", ")));
  compare("objective", a.objective, b.objective);
  compare("noise", a.noise, b.noise);
  compare("optimum", text_of(a.optimum), text_of(b.optimum));
  return fmt::format("{}", fmt::join(found, "; "));
}

class Joiner {
 public:
  explicit Joiner(const Trials& first) : all_(first) {
    all_.instances.clear();
    all_.results.clear();
    all_.options.strategies.clear();
  }

  Diagnostics add(const std::string& file, const Trials& part) {
    if (const std::string why = conflict(all_.options, part.options); !why.empty())
      return {error_at({file, 1, 0}, "is no part of the same run: " + why)};
    for (std::int64_t s = 0; s < part.options.seeds; ++s)
      seeds_.insert(part.options.seed + static_cast<std::uint64_t>(s));
    for (const StrategyChoice& strategy : part.options.strategies)
      if (strategies_.emplace(strategy.text, strategies_.size()).second) all_.options.strategies.push_back(strategy);
    for (const InstanceFacts& facts : part.instances) {
      const auto [at, is_new] = instances_.emplace(facts.name, instances_.size());
      if (is_new)
        all_.instances.push_back(facts);
      else if (const std::string differs = difference(all_.instances[at->second], facts); !differs.empty())
        return {error_at({file, 1, 0},
                         fmt::format("instance '{}' is another one than in the other files: {}", facts.name, differs),
                         "the suites differ, or the programs do")};
    }
    for (const TrialResult& trial : part.results) {
      const auto [known, is_new] = trials_.emplace(place_of(trial), trial);
      if (!is_new && json_of_trial(known->second) != json_of_trial(trial))
        return {error_at({file, 0, 0},
                         fmt::format("{} by {} with seed {} has another result in another file", trial.instance,
                                     trial.strategy, trial.seed),
                         "`isamap replay FILE` says which of the files is right")};
    }
    return {};
  }

  /// In the order of one run: instance, strategy, seed.
  Trials done() && {
    all_.options.seed = seeds_.empty() ? 0 : *seeds_.begin();
    all_.options.seeds = static_cast<std::int64_t>(seeds_.size());
    for (auto& [place, trial] : trials_) all_.results.push_back(std::move(trial));
    return std::move(all_);
  }

 private:
  using Place = std::tuple<std::size_t, std::size_t, std::uint64_t>;
  Place place_of(const TrialResult& trial) {
    return {instances_.emplace(trial.instance, instances_.size()).first->second,
            strategies_.emplace(trial.strategy, strategies_.size()).first->second, trial.seed};
  }

  Trials all_;
  std::set<std::uint64_t> seeds_;
  std::map<std::string, std::size_t> strategies_, instances_;
  std::map<Place, TrialResult> trials_;
};

}  // namespace

Result<Trials> joined(const std::vector<std::pair<std::string, Trials>>& files) {
  Joiner joiner(files.front().second);
  for (const auto& [file, part] : files)
    if (Diagnostics wrong = joiner.add(file, part); has_errors(wrong)) return wrong;
  return std::move(joiner).done();
}

}  // namespace isamap::lab
