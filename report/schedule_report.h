// SPDX-License-Identifier: Apache-2.0
#pragma once
// A schedule explained: as text, and as an HTML page with pictures that needs nothing else.

#include <optional>
#include <string>
#include <vector>

#include "driver/explanation.h"
#include "report/timeline.h"

namespace isamap {

std::string explanation_text(const std::vector<CostReport>& statements, const std::optional<RunnerUp>& second);
/// `timelines`: one for each statement.
std::string schedule_page(const std::string& title, const std::string& schedule,
                          const std::vector<CostReport>& statements, const std::vector<Timeline>& timelines,
                          const std::optional<RunnerUp>& second);

}  // namespace isamap
