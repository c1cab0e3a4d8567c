// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs by the clock: each compared with the interpreter first, then timed in turn.

#include <functional>

#include "isamap/cost_model.h"
#include "isamap/interpret.h"

namespace isamap {

struct MeasureOptions {
  int rounds = 5;             ///< every program is timed so often, in turn: A B C A B C
  double min_seconds = 0.02;  ///< of each timing
  std::uint64_t seed = 0;     ///< of the data
  RunLimits limits;
};

struct Measured {
  bool checked = false;  ///< it ran, and its result equals the interpreter's
  std::string problem;   ///< why it has no time, or a wrong result: "wrong result: C[3,1]: 12 instead of 13"
  std::string executed;  ///< "native", "emulated", "simulator"
  double seconds = 0;    ///< median; 0: not a clock
  double cycles = 0;     ///< simulators: of instructions and of scalar code
  double value() const { return seconds > 0 ? seconds : cycles; }
};

/// Turns go round, so that whatever slows the machine down for a while slows all of them down: medians stay comparable.
std::vector<Measured> measure(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options);

/// Keeps this thread, and every process it starts from now on, on the processor it runs on, as long as it lives.
class Pinned {
 public:
  Pinned();
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  std::vector<unsigned char> before_;
};

/// As a cost model: a candidate costs what one run of the emitted program takes. Seconds become cycles by the clock of
/// the machine. Candidates whose result is wrong are illegal.
std::unique_ptr<CostModel> make_cost_model_measured(Runner& runner, const MeasureOptions& options);

}  // namespace isamap
