// SPDX-License-Identifier: Apache-2.0
#pragma once
// The grid of blocks of one statement by one schedule (include/isamap/symbolic_program.h), and what it costs.

#include <memory>
#include <string>

#include "driver/symbolic/grid_price.h"
#include "driver/symbolic/kept_values.h"
#include "support/threads.h"

namespace isamap {

/// Loops and calls that the blocks of a grid may have together, where smaller tiles help: g++ takes some seconds for as
/// many (fitted). A product with tiles of 14 x 32 has 1900.
constexpr double most_grid_code = 6000;
/// Of a grid by a schedule that sums in lanes, with tiles of rows and columns: each step along the sum takes a vector
/// of terms for each of both, so that half a tile hides latencies, too, and cuts what a tile leaves. A product of few
/// columns, with tiles of 6 x 4, has 1060.
constexpr double most_lane_code = 600;

/// Schedules for the blocks of one statement.
struct GridSchedules {
  Schedule main;
  std::vector<Schedule> remainders;   ///< of blocks of remainders, the cheapest first
  std::vector<Schedule> others;       ///< where none of `remainders` lowers, in order
  Schedule scalar;                    ///< lowers always
  double most_code = most_grid_code;  ///< loops and calls
};

/// Programs of blocks of one statement, kept: schedules of several grids, and steps of one, ask for the same. And what
/// they cost. Several threads may ask.
class LoweredBlocks {
 public:
  /// `options`: their factory of cost models is called by several threads.
  LoweredBlocks(const HardwareModel& model, const CompileOptions& options)
      : model_(model),
        options_(options),
        workers_(options.schedule.workers ? options.schedule.workers
                                          : std::make_shared<Workers>(options.schedule.jobs)),
        costs_(model, options.schedule.costs) {}

  const HardwareModel& model() const { return model_; }
  Workers& workers() const { return *workers_; }
  BlockCosts& costs() { return costs_; }
  /// With so many positions along each axis; null: it does not lower. `shape`: of the statement, or rounded up.
  std::shared_ptr<const Program> of(const GridShape& shape, const Schedule& schedule,
                                    const std::vector<std::int64_t>& counts, bool adds);

 private:
  const HardwareModel& model_;
  const CompileOptions& options_;
  std::shared_ptr<Workers> workers_;
  BlockCosts costs_;
  KeptValues<std::shared_ptr<const Program>> known_;  ///< by `block_key`
};

/// Finds the tiles whose number may be any, and lowers a block for each combination of runs. An error says what stands
/// against it: a dim that no loop of the schedule walks, too many remainders, a block that does not lower.
Result<Grid> build_grid(const GridShape& shape, LoweredBlocks& lowered, const GridSchedules& schedules);

/// The same without programs, which take most of the time: a block is the schedule that will lower, and be shared, it
/// is expected. The grid has a cost at these sizes only: blocks of which they have no cell have no schedule.
Result<Grid> expected_grid(const GridShape& shape, LoweredBlocks& lowered, const GridSchedules& schedules,
                           const std::vector<Bindings>& sizes);

/// Loops and calls in the text of all blocks.
double code_of(const Grid& grid);

/// What the text of a grid takes to compile, in loops and calls; a function counts like some. Of an expected grid: as
/// told from the block of its largest tiles.
double text_of(const Grid& grid, LoweredBlocks& lowered);

/// Positions along each axis at the sample sizes.
std::vector<std::int64_t> likely_counts(const GridShape& shape);

/// The same without the blocks that no extent from `least` to `most` needs: by axis; -1: of any extent. Tiles of 14
/// that leave 1 to 6 positions are cut in halves, 8 + 7, so 14 positions or more need no block of a few.
Grid limited_to(const Grid& grid, const std::vector<std::int64_t>& least, const std::vector<std::int64_t>& most);

}  // namespace isamap
