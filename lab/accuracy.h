// SPDX-License-Identifier: Apache-2.0
#pragma once
// How well a prediction ranks what was measured: a search needs the order of schedules, not their time.

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/trial_store.h"

namespace isamap::lab {

/// A trial that was measured, and whose result was compared.
struct Compared {
  std::int64_t statement = 0, number = 0;
  double predicted = 0;  ///< cycles
  double measured = 0;   ///< seconds, or cycles of a simulator
  double factor = 1;     ///< measured / predicted, by the geometric mean of that over the statement: 1 is as the others
};

/// Of one statement of a run.
struct Accuracy {
  std::int64_t statement = 0;
  std::vector<Compared> trials;  ///< those whose factor is farthest from 1 come first
  /// Spearman 1904: correlation of the ranks, 1: the same order, -1: the reverse; ties share their mean rank. Nothing
  /// with fewer than two trials, or where all are equal.
  std::optional<double> rank_correlation;
};

/// By statement; of trials without a measurement nothing is said.
std::vector<Accuracy> accuracy_of(const std::vector<TrialRecord>& trials);

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace isamap::lab
