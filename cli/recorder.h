// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search with --store writes down, and what `replay` compares with.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/compile_verb.h"
#include "lab/trial_store.h"
#include "scheduler/cost/learned_cost.h"

namespace isamap::cli {

/// The options that decide what a search does and prints, and the kernel's text: read again by `options_of`.
std::string options_json(const Options& options);
/// `folder`: where the kernel's text becomes a file again.
std::optional<Options> options_of(const std::string& json, const std::string& folder);

/// Every trial, numbered within its statement; with a store, written there at once.
class Recorder {
 public:
  Recorder(const Options& options, std::string verb) : options_(options), verb_(std::move(verb)) {}

  /// Begins a run, with what earlier ones know; without --store only the trials are kept.
  CompileHook hook();
  /// A nest that is no point of the search's space; its number among the trials of its statement. 0: has complained.
  std::int64_t add_nest(std::int64_t statement, const Nest& nest, const Cost& cost);
  /// What was measured of a trial of which `add` has been told.
  bool measured(const lab::TrialRecord& trial);
  bool compilers(const std::vector<lab::CompilerRecord>& compilers);
  /// The run has ended and printed this. Has complained when false.
  bool finish(const std::string& text);

  const std::vector<lab::TrialRecord>& trials() const { return trials_; }
  void keep_trials() { keep_ = true; }
  /// In the place of a store: what a recorded run began with. Has complained when false.
  bool begin_as(const std::string& known);
  const std::vector<Lesson>& lessons() const { return lessons_; }
  /// The recorded number of a point; 0: it was never a trial.
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
  std::vector<Lesson> lessons_;                  // of earlier measurements on this machine
  std::vector<std::int64_t> numbers_;            // of each statement: trials so far
  std::vector<std::vector<std::string>> names_;  // of each statement: names of features
  std::map<std::pair<std::int64_t, std::vector<int>>, std::int64_t> number_of_;
  bool keep_ = false, broken_ = false;
};

/// "[0,3,1]" and back.
std::string text_of(const Point& point);
std::optional<Point> point_of(const std::string& text);

}  // namespace isamap::cli
