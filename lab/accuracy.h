// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranking accuracy of predictions: a search needs the order of schedules, not their time.

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/trial_store.h"

namespace isamap::lab {

/// A measured trial with a checked result.
struct Compared {
  std::int64_t statement = 0, number = 0;
  double predicted = 0;  ///< cycles
  double measured = 0;   ///< seconds, or cycles of a simulator
  double factor = 1;     ///< measured / predicted, relative to the geometric mean of the statement
};

/// Accuracy for one statement of a run.
struct Accuracy {
  std::int64_t statement = 0;
  std::vector<Compared> trials;  ///< by distance of the factor from 1, largest first
  /// Rank correlation (Spearman 1904): 1: same order, -1: reverse; ties share their mean rank. Nothing for fewer than
  /// two trials, or all equal.
  std::optional<double> rank_correlation;
};

/// By statement; trials without a measurement are ignored.
std::vector<Accuracy> accuracy_of(const std::vector<TrialRecord>& trials);

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace isamap::lab
