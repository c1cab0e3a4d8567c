// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records a search with --store, for `replay` and for learned cost models.

#include <optional>
#include <string>
#include <vector>

#include "cli/compile_verb.h"
#include "lab/trial_store.h"
#include "scheduler/cost/learned_cost.h"

namespace isamap::cli {

/// The options that determine a search and its output, and the kernel's text; parsed by `options_of`.
std::string options_json(const Options& options);
/// `folder`: the kernel's text is written there as a file.
std::optional<Options> options_of(const std::string& json, const std::string& folder);

/// Records every trial, numbered within its statement; with a store, written immediately.
class Recorder {
 public:
  Recorder(const Options& options, std::string verb) : options_(options), verb_(std::move(verb)) {}

  /// Begins a run with the knowledge of earlier ones; without --store trials are only kept in memory.
  CompileHook hook();
  /// Records a nest outside the search space; returns its trial number in its statement. 0: an error was reported.
  std::int64_t add_nest(std::int64_t statement, const Nest& nest, const Cost& cost);
  /// Records the measurement of a trial added before.
  bool measured(const lab::TrialRecord& trial);
  bool compilers(const std::vector<lab::CompilerRecord>& compilers);
  /// Ends the run with its printed output. False: an error was reported.
  bool finish(const std::string& text);

  const std::vector<lab::TrialRecord>& trials() const { return trials_; }
  void keep_trials() { keep_ = true; }
  /// For replay: restores the initial knowledge of a recorded run. False: an error was reported.
  bool begin_as(const std::string& known);
  const std::vector<Lesson>& lessons() const { return lessons_; }
  /// The trial number of a point; 0: not a trial.
  std::int64_t number_of(std::int64_t statement, const std::vector<int>& choice) const;

 private:
  bool begin(CompileOptions& compile, const Inputs& inputs);
  void add(const Trial& trial);
  bool failed(const Diagnostics& problems);

  const Options& options_;
  std::string verb_;
  std::optional<lab::TrialStore> store_;
  lab::RunRecord run_;
  std::vector<lab::TrialRecord> trials_;
  std::vector<std::vector<Point>> known_;
  std::vector<Lesson> lessons_;                  // earlier measurements on this machine
  std::vector<std::int64_t> numbers_;            // by statement: trials so far
  std::vector<std::vector<std::string>> names_;  // by statement: names of features
  std::map<std::pair<std::int64_t, std::vector<int>>, std::int64_t> number_of_;
  bool keep_ = false, broken_ = false;
};

/// "[0,3,1]" and back.
std::string text_of(const Point& point);
std::optional<Point> point_of(const std::string& text);

}  // namespace isamap::cli
