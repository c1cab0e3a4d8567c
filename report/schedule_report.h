// SPDX-License-Identifier: Apache-2.0
#pragma once
// Explanation of a schedule as text and as a self-contained HTML page.

#include <optional>
#include <string>
#include <vector>

#include "driver/explanation.h"
#include "report/timeline.h"

namespace isamap {

std::string explanation_text(const std::vector<CostReport>& statements, const std::optional<RunnerUp>& second);
/// `timelines`: one per statement.
std::string schedule_page(const std::string& title, const std::string& schedule,
                          const std::vector<CostReport>& statements, const std::vector<Timeline>& timelines,
                          const std::optional<RunnerUp>& second);

}  // namespace isamap
