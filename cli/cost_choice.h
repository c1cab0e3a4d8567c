// SPDX-License-Identifier: Apache-2.0
#pragma once
// --cost NAME: which model says what a schedule costs.

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "isamap/search.h"
#include "scheduler/cost/learned_cost.h"

namespace isamap::cli {

/// Those of scheduler/search/cost_names.h, and measured, learned.
const std::vector<std::string>& cost_names();

/// Models of that name, one for each thread. Has complained when empty, and set `code`: `measured` where nothing runs
/// here, an extension that cannot be loaded, a wrong option.
std::optional<CostModelFactory> cost_models(const Options& options, const HardwareModel& model, Exit& code,
                                            const std::vector<Lesson>& lessons = {});

}  // namespace isamap::cli
