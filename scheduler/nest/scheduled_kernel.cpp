// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/scheduled_kernel.h"

#include <algorithm>

#include "isamap/result.h"
#include "mapper/advice/statement_splits.h"

namespace isamap {

Result<Kernel> scheduled_kernel(const Kernel& kernel, const Schedule& schedule) {
  if (schedule.splits.empty() && schedule.lanes.empty()) return kernel;
  const auto split = split_statements(kernel, schedule.splits);
  return split ? vectorize_reductions(*split, schedule.lanes) : split;
}

Kernel scheduled_kernel_of(const Kernel& kernel, const Schedule& schedule) {
  if (schedule.splits.empty() && schedule.lanes.empty()) return kernel;
  auto made = scheduled_kernel(kernel, schedule);
  ISAMAP_CHECK(static_cast<bool>(made), "splits and lanes of a schedule fit its kernel");
  return std::move(*made);
}

std::optional<std::size_t> nest_of(const Kernel& kernel, std::size_t s, const Schedule& schedule) {
  const Kernel scheduled = scheduled_kernel_of(kernel, schedule);
  const auto& all = scheduled.statements;
  const auto at = std::find(all.begin(), all.end(), kernel.statements[s]);
  if (at == all.end()) return std::nullopt;
  return static_cast<std::size_t>(at - all.begin());
}

}  // namespace isamap
