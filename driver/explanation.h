// SPDX-License-Identifier: Apache-2.0
#pragma once
// A schedule taken apart: what each nest costs, and the schedule that came second.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/cost/cost_report.h"

namespace isamap {

/// The schedule that came second, and by what the objective is larger.
struct RunnerUp {
  std::string schedule;  ///< its text
  double ratio = 1;      ///< of the objective
  std::vector<CostReport> statements;
};

/// Of each nest of a schedule. Diagnostics as of `evaluate`.
Result<std::vector<CostReport>> explain(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model);

}  // namespace isamap
