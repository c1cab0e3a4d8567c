// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exact search for a kernel on a machine: which of its mappings differ as levelled problems, their best schedule,
// and what was proved.

#include "isamap/scheduler.h"
#include "scheduler/search/exact/branch_and_bound.h"

namespace isamap {

struct ExactSchedule {
  Scheduled scheduled;
  std::string text;        ///< the schedule in the per-memory view
  double lower_bound = 0;  ///< no schedule of the space is better
  bool certified = false;  ///< the best is the optimum of the space
  levelled::ExactCounts counts;
};

/// Empty: kernel and machine have this form (one statement, memories in a row, moves that take no issue slots). Else
/// why not.
Diagnostics not_levelled(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model);

struct ExactLimits {
  std::int64_t max_evaluations = 0, max_nodes = 0;  ///< 0: none
  double max_seconds = 0;
};

/// Diagnostics: that there is no schedule, and the constraints that exclude each other (this is proved), or that none
/// was found within the limits (`proved` false).
Result<ExactSchedule> schedule_exactly(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                                       const ScheduleOptions& options, const ExactLimits& limits, bool* proved);

}  // namespace isamap
