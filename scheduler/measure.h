// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timing of programs: each is first checked against the interpreter.

#include <functional>

#include "isamap/cost_model.h"
#include "isamap/interpret.h"

namespace isamap {

struct MeasureOptions {
  int rounds = 5;             ///< timings of every program, interleaved: A B C A B C
  double min_seconds = 0.02;  ///< of each timing
  std::uint64_t seed = 0;     ///< of the data
  RunLimits limits;
  int jobs = 1;                        ///< programs compiled at a time, before the first is timed
  std::function<bool()> stopped = {};  ///< true: what is measured so far is enough
};

struct Measured {
  RunVerdict verdict = RunVerdict::not_run;
  std::string problem;  ///< why it has no time: "wrong result: C[3,1]: 12 instead of 13"
  ExecutionMode executed = ExecutionMode::unavailable;
  double seconds = 0;        ///< median; 0: not a clock
  double cycles = 0;         ///< simulators: of instructions and of scalar code
  bool interrupted = false;  ///< not measured: `stopped` came first
  bool correct() const { return verdict == RunVerdict::correct; }
  double value() const { return seconds > 0 ? seconds : cycles; }
};

/// Interleaved, so that transient slowdowns of the machine affect all programs and medians stay comparable.
std::vector<Measured> measure(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options);

/// Pins this thread, and processes it starts, to its current processor.
class PinnedThread {
 public:
  PinnedThread();
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

 private:
  std::vector<unsigned char> before_;
};

/// A cost model that runs the emitted program once. Seconds become cycles by the clock of the machine. Candidates with
/// wrong results are illegal.
std::unique_ptr<CostModel> make_cost_model_measured(Runner& runner, const MeasureOptions& options);

}  // namespace isamap
