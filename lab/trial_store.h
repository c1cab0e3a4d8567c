// SPDX-License-Identifier: Apache-2.0
#pragma once
// Trials of all searches in one SQLite file (write-ahead log): several processes may write concurrently, and a killed
// one loses at most its current trial. Only trial_store.cpp includes sqlite3.h.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isamap/interpret.h"
#include "isamap/result.h"

namespace isamap::lab {

/// One search: all its inputs, as text that can be parsed again.
struct RunRecord {
  std::int64_t id = 0;
  std::string verb;         ///< "schedule", "tune"
  std::string kernel_hash;  ///< of the kernel as it prints
  std::string target_hash;  ///< of the hardware file, resolved
  std::string space_hash;   ///< of what else decides what a point means and costs: mappings, space, objective
  std::string target_text;  ///< the hardware file, resolved
  std::string options;      ///< JSON: kernel, options, seed
  std::string known;        ///< JSON: the points it began with, of each statement
  std::string result;       ///< what it printed; empty: it has not ended
  std::string features;     ///< JSON: names of the features of trials, a list for each statement
};

struct TrialRecord {
  std::int64_t statement = 0, number = 0;
  std::string point;     ///< "[0,3,1]"
  std::string schedule;  ///< the nest, a line each; empty: illegal
  std::string problem;   ///< why it is illegal, or why the measured result is wrong
  double objective = 0, cycles = 0, energy_pJ = 0, bytes = 0;  ///< predicted
  std::optional<double> measured;                              ///< seconds, or cycles of a simulator
  RunVerdict verdict = RunVerdict::not_run;                    ///< of the measured run
  std::string features;                                        ///< JSON list; may be empty
  bool operator==(const TrialRecord&) const = default;
};

/// Compiler with which a run timed its best program.
struct CompilerRecord {
  std::string command, version;
  double seconds = 0;
};

class TrialStore {
 public:
  /// `create`: creates a missing file. Another kind of file is an error.
  static Result<TrialStore> open(const std::string& path, bool create);
  ~TrialStore();
  TrialStore(TrialStore&&) noexcept;

  Result<std::int64_t> begin(const RunRecord& run);
  /// Durable on return: a killed process loses nothing.
  Diagnostics add(std::int64_t run, const TrialRecord& trial);
  /// Stores measurement and check of a trial together.
  Diagnostics measured(std::int64_t run, const TrialRecord& trial);
  Diagnostics name_features(std::int64_t run, const std::string& names);
  Diagnostics add_compilers(std::int64_t run, const std::vector<CompilerRecord>& compilers);
  /// The key of the machine that measures (jobs/device.h): times of different ones are never compared.
  Diagnostics measured_by(std::int64_t run, const std::string& device);
  Diagnostics finish(std::int64_t run, const std::string& result);

  Result<RunRecord> run(std::int64_t id) const;  ///< 0: the last one
  Result<std::vector<TrialRecord>> trials(std::int64_t run) const;
  Result<std::vector<CompilerRecord>> compilers(std::int64_t run) const;
  /// The cheapest point of each statement among all runs with these hashes: by prediction, or among those that were
  /// measured and checked, on this device (hexadecimal digits; empty: any). Statements without one have an empty text.
  Result<std::vector<std::string>> best_points(const RunRecord& like, bool measured,
                                               const std::string& device = "") const;
  /// All measured and checked trials with features on a machine, by this device: training data of a learned cost model.
  Result<std::vector<TrialRecord>> measured_on(const std::string& target_hash, const std::string& device = "") const;

 private:
  struct State;
  static Result<TrialStore> open_file(const std::string& path, bool create);
  explicit TrialStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Does the file have the header of an SQLite file?
bool is_store(const std::string& path);

}  // namespace isamap::lab
