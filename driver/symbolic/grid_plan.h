// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grids of one statement that are compared by price before their blocks are lowered, which takes most of the time.

#include <vector>

#include "driver/symbolic/grid_builder.h"

namespace isamap {

/// How far a grid is made: more is done where a version needs it.
enum class GridStage {
  planned,   ///< a shape and a schedule
  runs,      ///< with runs, and expected schedules of blocks
  lowered,   ///< with blocks
  printable  ///< which a program can have
};

struct PlannedGrid {
  Grid grid;
  GridStage stage = GridStage::planned;
  double text = 0;                       ///< `text_of` the grid, from the stage of runs on
  std::vector<GridSchedules> next = {};  ///< the one that the grid is made by, then others that may be tried
  Diagnostics why_not = {};              ///< the problems of the first schedule that does not allow it
  Diagnostics why_scalar = {};           ///< it is scalar code in place of instructions: what stands against these
};

/// The schedule as it is, or with less in it. `all`: schedules of other sizes, for blocks of remainders.
PlannedGrid planned_grid(const GridShape& shape, const Schedule& schedule, const std::vector<Schedule>& all,
                         const HardwareModel& model);

/// None of its schedules makes a grid that can be printed.
bool is_refused(const PlannedGrid& plan);

/// The next stage, with a cost at these sizes; where its schedule does not allow that, the runs of the first of the
/// next schedules that has some, or it is refused.
void advance(PlannedGrid& plan, const GridShape& shape, LoweredBlocks& lowered, const std::vector<Bindings>& sizes);

/// The last stage, by the first of its schedules that allows it, unless it is refused.
void complete(PlannedGrid& plan, const GridShape& shape, LoweredBlocks& lowered);

/// Copies of inputs are packed before all loops: cells of the grid share those (program/shared_copies.h).
Schedule with_early_copies(const GridShape& shape, Schedule schedule, const HardwareModel& model);

/// Copies of constants that a search made ahead of time and blocks pack themselves (`is_kept_constant`): before all
/// loops.
Schedule with_kept_copies(const GridShape& shape, Schedule schedule);

/// Loops over rows and lanes together, `i.j_lane by 128`, become loops over rows, `i by 8`: rows are what is symbolic.
Schedule with_separate_lanes(const Schedule& schedule);

/// A schedule that was found at one position of an axis has no loop over it: it gets one, `for n by 1`.
Schedule with_unit_loops(const GridShape& shape, Schedule schedule);

/// A schedule that sums in lanes, found at few positions of an axis, unrolls them without a loop over tiles: it gets
/// one over tiles of as many, `for j by 3`. `counts`: where it was found, by axis.
Schedule with_tiles_as_found(const GridShape& shape, Schedule schedule, const std::vector<std::int64_t>& counts,
                             const HardwareModel& model);

/// Copies of the output hold one tile of registers each: a copy of all rows has no loop over tiles of a symbolic dim.
Schedule with_inner_outputs(const GridShape& shape, Schedule schedule, const HardwareModel& model);

/// A copy of the output for each tile is written back tile by tile: along the innermost axis of the output in vectors,
/// across it element by element. Tiles of registers that go across become tiles of as many positions along it. Nothing:
/// they go along it already, or none of these is legal.
std::optional<Schedule> with_row_tile(const GridShape& shape, const Schedule& schedule, const HardwareModel& model);

/// A copy of the output for each tile is written back tile by tile, which costs larger tiles less: the innermost loop
/// over a symbolic dim has the largest legal tile, up to twice its own. Nothing: there is none.
std::optional<Schedule> with_larger_tile(const GridShape& shape, const Schedule& schedule, const HardwareModel& model);

/// A schedule that was found at one size with loops over each symbolic dim alone, with copies at other places, without
/// copies, which few rows do not repay, and with larger tiles and tiles of rows where each one has a copy of the
/// output.
std::vector<Schedule> schedules_to_plan(const GridShape& shape, const Schedule& found, const HardwareModel& model);

/// Does it use no instruction?
bool uses_no_instruction(const Schedule& schedule);

}  // namespace isamap
