// SPDX-License-Identifier: Apache-2.0
#pragma once
// --cost NAME: selects the cost model.

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "isamap/search.h"
#include "scheduler/cost/learned_cost.h"

namespace isamap::cli {

/// The names of scheduler/search/cost_names.h, and measured, learned.
const std::vector<std::string>& cost_names();

/// A factory of that model, called once per thread. Empty: an error was reported and `code` is set: `measured` without
/// a way to run, an extension that fails to load, a wrong option.
std::optional<CostModelFactory> cost_models(const Options& options, const HardwareModel& model, Exit& code,
                                            const std::vector<Lesson>& lessons = {});

}  // namespace isamap::cli
