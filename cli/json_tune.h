// SPDX-License-Identifier: Apache-2.0
#pragma once
// The answer of `tune`.

#include <string>
#include <vector>

#include "isamap/scheduler.h"
#include "lab/trial_store.h"
#include "scheduler/measure.h"

namespace isamap::cli {

struct TunedCandidate {
  std::int64_t statement = 0, number = 0;  ///< of the trial
  double predicted = 0;                    ///< cycles
  double measured = 0;                     ///< seconds, or cycles of a simulator
  bool correct = false;
  std::string problem;
  std::string variation;  ///< how it differs from the best trial; empty: it is a trial
};

struct TuneAnswer {
  Scheduled scheduled;
  Measured best;
  std::vector<TunedCandidate> rows;
  std::vector<lab::CompilerRecord> compilers;  ///< compiler of the best
  std::uint64_t seed = 0;
};

std::string json_of_tune(const TuneAnswer& answer);

}  // namespace isamap::cli
