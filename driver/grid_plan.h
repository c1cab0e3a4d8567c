// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grids of one statement that are compared by price before their blocks are lowered, which takes most of the time.

#include <vector>

#include "driver/grid_builder.h"

namespace isamap {

/// A grid whose blocks are found and lowered once a version needs them.
struct PlannedGrid {
  Grid grid;  ///< only a shape and a schedule at first
  bool lowered = false;
  std::vector<GridSchedules> next = {};  ///< to be tried in order
};

/// The schedule as it is, or with less in it. `all`: schedules of other sizes, for blocks of rests.
PlannedGrid planned_grid(const GridShape& shape, const Schedule& schedule, const std::vector<Schedule>& all,
                         const HardwareModel& model);

/// Lowers the blocks of the first of its schedules that allows it; `lowered` says whether one did. The problems of the
/// first one that does not.
Diagnostics complete(PlannedGrid& plan, const GridShape& shape, const HardwareModel& model,
                     const CompileOptions& options);

/// Copies of inputs are packed before all loops: cells of the grid share those (program/shared_copies.h).
Schedule with_early_copies(const GridShape& shape, Schedule schedule, const HardwareModel& model);

/// Does it use no instruction?
bool uses_no_instruction(const Schedule& schedule);

}  // namespace isamap
