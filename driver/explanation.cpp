// SPDX-License-Identifier: Apache-2.0
#include "driver/explanation.h"

namespace isamap {

Result<std::vector<CostReport>> explain(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model) {
  std::vector<CostReport> all;
  for (std::size_t s = 0; s < schedule.nests.size(); ++s) {
    const auto priced = price_nest({&kernel, make_id<StatementId>(s), &model, schedule.nests[s]});
    if (!priced) return priced.diagnostics();
    all.push_back(cost_report(**priced));
  }
  return all;
}

}  // namespace isamap
