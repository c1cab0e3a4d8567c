// SPDX-License-Identifier: Apache-2.0
#pragma once
// The grid of blocks of one statement by one schedule (include/isamap/block_program.h), and what it costs.

#include "isamap/block_program.h"
#include "isamap/compile.h"

namespace isamap {

/// Schedules for the blocks of one statement.
struct GridSchedules {
  Schedule main;
  std::vector<Schedule> rests;   ///< of blocks of rests, the cheapest first
  std::vector<Schedule> others;  ///< where none of `rests` lowers, in order
  Schedule scalar;               ///< lowers always
};

/// Finds the tiles whose number may be any, and lowers a block for each combination of runs. An error says what stands
/// against it: a dim that no loop of the schedule walks, too many rests, a block that does not lower.
Result<Grid> build_grid(const GridShape& shape, const HardwareModel& model, const CompileOptions& options,
                        const GridSchedules& schedules);

/// Positions along each axis at the sample sizes.
std::vector<std::int64_t> likely_counts(const GridShape& shape);

/// The same without the blocks that no extent up to these needs: by axis; -1: of any extent.
Grid limited_to(const Grid& grid, const std::vector<std::int64_t>& most);

}  // namespace isamap
