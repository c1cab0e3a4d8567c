// SPDX-License-Identifier: Apache-2.0
#pragma once
// Explanation of a schedule: cost breakdown of each nest, and the runner-up.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/cost/cost_report.h"

namespace isamap {

/// The second best schedule, and the ratio of its objective to the best.
struct RunnerUp {
  std::string schedule;  ///< its text
  double ratio = 1;      ///< of the objective
  std::vector<CostReport> statements;
};

/// For each nest of a schedule. Diagnostics as of `evaluate`.
Result<std::vector<CostReport>> explain(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model);

}  // namespace isamap
