// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runner-up: the second best schedule of a search, or the best neighbour of the best schedule.

#include <optional>

#include "driver/explanation.h"
#include "isamap/search.h"

namespace isamap {

/// Tracks, over all trials, the second best point of each statement with a strictly higher cost than the best.
class RunnerUpTracker {
 public:
  void see(const Trial& trial);
  /// The schedule with one statement replaced by its second best, where that costs least. Nothing: none.
  std::optional<RunnerUp> of(const Schedule& best, const Kernel& kernel, const HardwareModel& model) const;

 private:
  struct Pair {
    std::optional<double> best, second;
    Nest best_nest, second_nest;
  };
  std::vector<Pair> statements_;
};

/// For searches without observable trials: the cheapest legal, strictly worse neighbour (two adjacent loops
/// interchanged, one tile a step smaller or larger, one stage removed).
std::optional<RunnerUp> best_neighbour(const Schedule& best, const Kernel& kernel, const HardwareModel& model,
                                       Objective objective);

}  // namespace isamap
