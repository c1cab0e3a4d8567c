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

/// Writes the requested files. Empty: an error was reported and `code` is set. `second`: the runner-up.
std::optional<Extras> extras_of(const Options& options, const Schedule& schedule, const std::string& schedule_text,
                                const Kernel& kernel, const HardwareModel& model, const std::optional<RunnerUp>& second,
                                Exit& code);

}  // namespace isamap::cli
