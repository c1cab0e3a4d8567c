// SPDX-License-Identifier: Apache-2.0
#pragma once
// What --explain, --report and --trace add to a schedule that was evaluated or found.

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "report/schedule_report.h"

namespace isamap::cli {

struct Extras {
  std::vector<CostReport> statements;
  std::vector<Timeline> timelines;  ///< empty: nothing asked for a simulation
  std::string text;                 ///< of --explain
};

/// Writes the files that were asked for; `code` is set and complained about when empty. `second`: what the winner beat.
std::optional<Extras> extras_of(const Options& options, const Schedule& schedule, const std::string& schedule_text,
                                const Kernel& kernel, const HardwareModel& model, const std::optional<RunnerUp>& second,
                                Exit& code);

}  // namespace isamap::cli
