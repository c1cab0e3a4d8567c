// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exact search for a kernel on a machine: its distinct mappings as problems of the per-memory form, their best
// schedule, and what was proved.

#include "isamap/scheduler.h"
#include "scheduler/search/exact/branch_and_bound.h"

namespace isamap {

struct ExactSchedule {
  Scheduled scheduled;
  std::string text;        ///< the schedule in the per-memory view
  double lower_bound = 0;  ///< proved for the whole space
  bool certified = false;  ///< the best is the optimum of the space
  hierarchy::ExactCounts counts;
};

/// Why the exact search does not apply; empty: it does (one statement, a linear memory hierarchy, moves without issue
/// slots).
Diagnostics exact_search_refusal(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model);

struct ExactLimits {
  std::int64_t max_evaluations = 0, max_nodes = 0;  ///< 0: none
  double max_seconds = 0;
};

/// `max_nodes` where neither a budget (`--budget`) nor a proof is asked for, and for each job of a sweep. Nodes are
/// counted, not timed, so that results are the same on every machine.
inline constexpr std::int64_t usual_nodes = 1'000'000;

/// Diagnostics: no schedule exists, with the conflicting constraints (`proved`), or none was found within the limits.
Result<ExactSchedule> schedule_exactly(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                                       const ScheduleOptions& options, const ExactLimits& limits, bool* proved);

}  // namespace isamap
