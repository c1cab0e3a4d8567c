// SPDX-License-Identifier: Apache-2.0
#pragma once
// Trials: every strategy on every instance with every seed, in the same loop as `isamap schedule`.

#include <functional>
#include <string>
#include <vector>

#include "isamap/search.h"
#include "lab/suite.h"

namespace isamap::lab {

/// "genetic:population=64" as text and in parts.
struct StrategyChoice {
  std::string text, name;
  StrategyOptions options;
};
/// "a,b:x=1:y=2,c": options of a strategy are parted by further colons, since commas part strategies.
Result<std::vector<StrategyChoice>> parse_strategies(const std::string& text);

struct RunOptions {
  std::vector<StrategyChoice> strategies;
  std::int64_t seeds = 15;
  std::uint64_t seed = 0;  ///< the first one
  std::int64_t evaluations = 1000;
  std::string cost =
      "closed_form";  ///< NAME:key=value,..., of scheduler/search/cost_names.h; of others no optima are stated
  int threads = 1;    ///< trials side by side; never changes a byte of the result
};

/// What one search did.
struct TrialResult {
  std::string instance, strategy;
  std::uint64_t seed = 0;
  std::int64_t evaluations = 0, legal = 0;
  /// (evaluations, objective) at each improvement of what the strategy saw. The objective is the true one, without
  /// noise, of the point that looks best.
  std::vector<std::pair<std::int64_t, double>> curve;
  std::vector<int> best;  ///< choices of that point
};

struct InstanceFacts {
  std::string name, group, kernel_hash, target, objective, proof;
  std::optional<double> optimum;
  double noise = 0;
};

/// What a file of trials holds.
struct Trials {
  std::string suite;  ///< path or name as it was given
  RunOptions options;
  std::vector<InstanceFacts> instances;
  std::vector<TrialResult> results;
  /// Trials of the whole run; more than `results` where it was ended before.
  std::size_t expected() const {
    return instances.size() * options.strategies.size() * static_cast<std::size_t>(options.seeds);
  }
};

/// How far one trial goes, and by what.
struct TrialLimits {
  std::int64_t evaluations = 1000;
  std::function<bool()> stopped;  ///< true ends it, with a result that is thrown away
};
Result<TrialResult> run_trial(const Instance& instance, const StrategyChoice& strategy, std::uint64_t seed,
                              const TrialLimits& limits, const CostModelFactory& costs = make_cost_model_closed_form);

/// JSON lines: the first says what was run, each other one is a trial, in the order instance, strategy, seed. `write`
/// gets each line as soon as those before it are there. Errors: a strategy or cost model that cannot be made, or that
/// fails. `progress` gives false to end the run: what is written are whole trials, fewer than all.
Diagnostics run(const std::string& suite_name, const Suite& suite, const RunOptions& options,
                const std::function<void(const std::string& line)>& write,
                const std::function<bool(std::size_t done, std::size_t all)>& progress = {});

/// A file that `run` wrote; a last line that is cut off is left out.
Result<Trials> parse_trials(const std::string& text, const std::string& file);

/// 16 hexadecimal digits of a text: FNV-1a, 64 bits.
std::string hash_of(const std::string& text);

}  // namespace isamap::lab
