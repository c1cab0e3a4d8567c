// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which nests to fuse. The best nest of a statement alone may fuse with nothing, since its dims are fused or its tile
// leaves no memory for the consumer; the search therefore keeps others, which are tried with fusion as well.

#include <optional>
#include <string>
#include <vector>

#include "isamap/scheduler.h"
#include "scheduler/statement_costs.h"

namespace isamap {

/// A nest for one statement, with its mapping and its cost.
struct ScheduledStatement {
  Nest nest;
  std::string view;  ///< as in `Scheduled`
  Mapping mapping;
  Cost cost;
};

/// What a search kept for fusion, beside its best nest.
struct FusionAlternatives {
  std::optional<ScheduledStatement> unfused_dims;  ///< the best that fuses no dims, where the best of all does
  std::vector<ScheduledStatement> other_tiles;     ///< the best of each other use of registers or memory, by cost
};

/// Where fusion is tried. All references outlive the trials; `model_of` may be called by several threads.
struct FusionTrials {
  const Kernel& kernel;
  const Kernel& whole;  ///< as in `FusionInput`
  const HardwareModel& model;
  const ScheduleOptions& options;
  Workers& workers;
  const std::vector<std::vector<Mapping>>& mappings;  ///< by statement: those that lower
  StatementCosts::ModelOf model_of;
};

/// Does the mapping run lanes over a dim made of several of the statement?
bool fuses_dims(const Mapping& mapping);

/// What distinguishes the nests that `other_tiles` keeps: memory of a block where blocks run in waves, otherwise tiles
/// of registers.
std::string fusion_key(const Nest& nest, const HardwareModel& model);

/// Replaces nests, costs and mappings of `found` by the cheapest fusion; `kept` by statement. The number of workers
/// changes nothing.
void try_fusions(const FusionTrials& trials, const std::vector<FusionAlternatives>& kept, Scheduled& found);

}  // namespace isamap
