// SPDX-License-Identifier: Apache-2.0
#pragma once
// A schedule explained: as text, and as an HTML page with pictures that needs nothing else.

#include <optional>
#include <string>
#include <vector>

#include "cli/timeline.h"
#include "scheduler/explain_nest.h"

namespace isamap::cli {

/// The schedule that came second, and by what the objective is larger.
struct RunnerUp {
  std::string schedule;  ///< its text
  double ratio = 1;      ///< of the objective
  std::vector<NestExplanation> statements;
};

/// Of each nest of a schedule. Diagnostics as of `evaluate`.
Result<std::vector<NestExplanation>> explain(const Schedule& schedule, const Kernel& kernel,
                                             const HardwareModel& model);

std::string explanation_text(const std::vector<NestExplanation>& statements, const std::optional<RunnerUp>& second);
/// `timelines`: one for each statement.
std::string schedule_page(const std::string& title, const std::string& schedule,
                          const std::vector<NestExplanation>& statements, const std::vector<Timeline>& timelines,
                          const std::optional<RunnerUp>& second);

/// Every nest simulated, one after the other. Diagnostics: too many steps.
Result<std::vector<Timeline>> timelines_of(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                                           std::size_t slices);

}  // namespace isamap::cli
