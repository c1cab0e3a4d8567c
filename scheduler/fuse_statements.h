// SPDX-License-Identifier: Apache-2.0
#pragma once
// After the search: statements that only assign take over the tiles of what they read (scheduler/nest/fused_tiles.h),
// and statements that add up bands of it (scheduler/row_strips.h), where that lowers and costs less. The search
// schedules statements one by one; this joins them.

#include <functional>
#include <vector>

#include "isamap/cost_model.h"
#include "isamap/mapping.h"

namespace isamap {

/// What is needed of the search: the mappings of each statement that lower, its costs and what they are compared by.
struct FusionInput {
  const Kernel& kernel;
  const HardwareModel& model;
  Objective objective = Objective::edp;
  CostModel& costs;
  std::function<std::vector<Mapping>(StatementId)> mappings;
};

/// Changes the nests and their costs; `chosen` are the mappings the nests are of. Statements in order, producers from
/// the last to the first; tiles in registers before tiles in memory with code of a scalar unit.
void fuse_statements(const FusionInput& input, Schedule& schedule, std::vector<Cost>& costs,
                     std::vector<Mapping>& chosen);

}  // namespace isamap
