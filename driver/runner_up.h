// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the best schedule beat: the second best of a search, or the best of the schedules one step away from it.

#include <optional>

#include "driver/explanation.h"
#include "isamap/search.h"

namespace isamap {

/// The second best of each statement that is strictly worse than the best; fed with every trial.
class RunnerUpTracker {
 public:
  void see(const Trial& trial);
  /// With the second best of the statement where that costs the least. Nothing: there is none.
  std::optional<RunnerUp> of(const Schedule& best, const Kernel& kernel, const HardwareModel& model) const;

 private:
  struct Pair {
    std::optional<double> best, second;
    Nest best_nest, second_nest;
  };
  std::vector<Pair> statements_;
};

/// For searches that show no trials: two neighbouring loops exchanged, one tile a step smaller or larger, one stage
/// left out. The cheapest that is legal and strictly worse.
std::optional<RunnerUp> best_neighbour(const Schedule& best, const Kernel& kernel, const HardwareModel& model,
                                       Objective objective);

}  // namespace isamap
