// SPDX-License-Identifier: Apache-2.0
#pragma once
// Trials: every strategy on every instance with every seed, in the search loop of `isamap schedule`.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "isamap/search.h"
#include "lab/suite.h"

namespace isamap::lab {

/// A strategy with options: "genetic:population=64".
struct StrategyChoice {
  std::string text, name;
  StrategyOptions options;
};
/// "a,b:x=1:y=2,c": strategies separated by commas, options by colons.
Result<std::vector<StrategyChoice>> parse_strategies(const std::string& text);

struct RunOptions {
  std::vector<StrategyChoice> strategies;
  std::int64_t seeds = 15;
  std::uint64_t seed = 0;  ///< the first one
  std::int64_t evaluations = 1000;
  std::string cost =
      "closed_form";  ///< NAME:key=value,..., of scheduler/search/cost_names.h; optima are stated for closed_form only
  int jobs = 1;       ///< concurrent trials; never changes a byte of the result
};

/// Result of one search.
struct TrialResult {
  std::string instance, strategy;
  std::uint64_t seed = 0;
  std::int64_t evaluations = 0, legal = 0;
  /// (evaluations, objective) at each improvement seen by the strategy; the objective without noise, of the point that
  /// looks best.
  std::vector<std::pair<std::int64_t, double>> curve;
  std::vector<int> best;  ///< choices of the best point
};

struct InstanceFacts {
  std::string name, group, kernel_hash, target, objective, proof;
  std::optional<double> optimum;
  double noise = 0;
  std::string target_hash = {};         ///< of the hardware file as read, with its parameters
  std::vector<std::string> space = {};  ///< words of its `space:`
};

/// Contents of a file of trials.
struct Trials {
  std::string suite;  ///< path or name as given
  RunOptions options;
  std::vector<InstanceFacts> instances;
  std::vector<TrialResult> results;
  Diagnostics damaged = {};  ///< lines of the file that are no trials
  /// Trials of the whole run; more than `results` if it was interrupted.
  std::size_t expected() const {
    return instances.size() * options.strategies.size() * static_cast<std::size_t>(options.seeds);
  }
};

/// Limits of one trial.
struct TrialLimits {
  std::int64_t evaluations = 1000;
  std::function<bool()> stopped;  ///< true ends it; the result is discarded
};
/// "NAME:key=value,key=value" of RunOptions::cost.
Result<CostModelFactory> costs_of(const std::string& text);
Result<TrialResult> run_trial(const Instance& instance, const StrategyChoice& strategy, std::uint64_t seed,
                              const TrialLimits& limits, const CostModelFactory& costs = make_cost_model_closed_form);

/// The start of a file of trials that a run would write again: its bytes, and the trials in them. Behind a gap, as
/// `results` of a plan leaves it where jobs are missing: trials by their number among all.
struct WrittenBefore {
  std::size_t bytes = 0, trials = 0;
  std::map<std::size_t, std::string> later = {};
  std::size_t all() const { return trials + later.size(); }
};
/// What an earlier `run` of this suite with these options left in `text`: whole lines. No bytes: another run.
WrittenBefore written_before(const std::string& text, const std::string& suite_name, const Suite& suite,
                             const RunOptions& options);
/// Why `run` of this suite with these options must not overwrite a file with this text: "holds trials of another run:
/// its seeds are 2, not 3". Empty: it holds no trials, or those of an earlier `run` of the same.
std::string held_by_another_run(const std::string& text, const std::string& suite_name, const Suite& suite,
                                const RunOptions& options);

/// What a run can know before it begins: strategies and a cost model that cannot be made.
Diagnostics check(const Suite& suite, const RunOptions& options);

/// JSON lines: a header, then a trial each, in the order instance, strategy, seed. `write` receives each line once
/// those before it are complete. Errors: a strategy or cost model that cannot be made, or fails. `progress` is asked
/// after each trial and every few tens of milliseconds within trials, by one thread at a time; false ends the run, and
/// unfinished trials are left out. `before`: lines that are there already and are not written again.
Diagnostics run(const std::string& suite_name, const Suite& suite, const RunOptions& options,
                const std::function<void(const std::string& line)>& write,
                const std::function<bool(std::size_t done, std::size_t all)>& progress = {},
                const WrittenBefore& before = {});

/// A file written by `run`; a truncated last line is ignored, other lines that are no trials are in `damaged`.
Result<Trials> parse_trials(const std::string& text, const std::string& file);
/// Trials of several files as one run: of other seeds, strategies or instances. Errors: an instance that differs, other
/// budgets or cost models, two results of one trial that differ.
Result<Trials> joined(const std::vector<std::pair<std::string, Trials>>& files);

/// 16 hexadecimal digits of a text: FNV-1a, 64 bits.
std::string hash_of(const std::string& text);

}  // namespace isamap::lab
