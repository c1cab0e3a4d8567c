// SPDX-License-Identifier: Apache-2.0
#pragma once
// After the search: fuse element-wise consumers into the tile loop of their producer (scheduler/nest/fused_tiles.h),
// and reductions through row strips (scheduler/strip_fusion.h), where that lowers and costs less.

#include <functional>
#include <vector>

#include "isamap/cost_model.h"
#include "isamap/mapping.h"

namespace isamap {

/// Inputs from the search: lowerable mappings of each statement, cost model, objective.
struct FusionInput {
  const Kernel& kernel;
  const Kernel& whole;  ///< what lowers must lower there: the kernel of which the other is a step, or itself
  const HardwareModel& model;
  Objective objective = Objective::edp;
  CostModel& costs;
  std::function<std::vector<Mapping>(StatementId)> mappings;
  bool lower = true;  ///< false: what costs less is assumed to lower, for an estimate of the gain
};

/// Changes nests, costs and mappings (`chosen`). Consumers in order, producers from the last to the first; tiles in
/// registers before tiles in memory.
void fuse_statements(const FusionInput& input, Schedule& schedule, std::vector<Cost>& costs,
                     std::vector<Mapping>& chosen);

}  // namespace isamap
