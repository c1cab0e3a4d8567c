#pragma once
// --cost NAME: which model says what a schedule costs.

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "scheduler/learned_cost.h"

namespace isamap::cli {

/// closed_form, latency, simulator, measured, learned.
const std::vector<std::string>& cost_names();

/// Models of that name, one for each thread. Has complained when empty: `measured` where nothing runs here.
std::optional<CostModelFactory> cost_models(const Options& options, const HardwareModel& model,
                                            const std::vector<Lesson>& lessons = {});

}  // namespace isamap::cli
