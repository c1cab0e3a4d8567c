// SPDX-License-Identifier: Apache-2.0
#pragma once
// Output of --explain, --report and --trace for an evaluated or found schedule.

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "report/schedule_report.h"

namespace isamap::cli {

struct Extras {
  std::vector<CostReport> statements;
  std::vector<Timeline> timelines;  ///< empty: no simulation was requested
  std::string text;                 ///< of --explain
};

/// What is explained: a schedule, its printed text, and the runner-up of its search.
struct Explained {
  const Schedule& schedule;
  std::string text;
  std::optional<RunnerUp> second;
};

/// Writes the requested files. Empty: an error was reported and `code` is set.
std::optional<Extras> extras_of(const Options& options, const Explained& what, const Kernel& kernel,
                                const HardwareModel& model, Exit& code);

}  // namespace isamap::cli
