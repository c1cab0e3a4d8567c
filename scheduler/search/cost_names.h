// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cost models by name, including those of users: --cost NAME:key=value,...

#include <string>
#include <vector>

#include "isamap/search.h"

namespace isamap {

/// closed_form, latency, simulator: no options. external: a process that estimates (docs/laboratory.md), `command` and
/// `seconds`. extension: a shared object (include/isamap/extension.h), `file` and options of its own.
const std::vector<std::string>& cost_model_names();
Result<CostModelFactory> cost_model_named(const std::string& name, const StrategyOptions& options);

/// Each model has a process of its own; a failure of one ends the search.
Result<CostModelFactory> external_cost_models(const StrategyOptions& options);

}  // namespace isamap
