// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the cells of a grid cost.
//
// Cells share the copies that their schedule packs before all loops (program/shared_copies.h). A cell that finds them
// made costs what its positions add to the block before it: cost(both together) - cost(the block before it).

#include <set>
#include <string>

#include "driver/symbolic/kept_values.h"
#include "isamap/compile.h"
#include "isamap/symbolic_program.h"
#include "program/cell_shares.h"

namespace isamap {

/// Positions of an axis in the cell whose copies are used.
struct PositionsBefore {
  std::size_t axis = 0;
  std::int64_t count = 0;
};

/// How many positions each run of an axis has, without runs of none: what the entry of the program computes.
CountedRuns runs_at(const GridAxis& axis, std::int64_t extent);

/// `block_kernel` that starts its sums, with the constants of `like`: those, too, whose copies blocks pack themselves.
Kernel kernel_with_constants(const GridShape& shape, const std::vector<std::int64_t>& counts, const Kernel& like);

/// A block with the copies that are kept from call to call (`is_kept_constant`) as copies of constants: made ahead of
/// time, they cost nothing.
struct PricedBlock {
  Kernel kernel;
  Schedule schedule;
};
PricedBlock priced_block(const GridShape& shape, const std::vector<std::int64_t>& counts, bool adds,
                         const Schedule& schedule);

/// What a block of a statement is lowered and priced by. `shape`: of the statement, or rounded up.
std::string block_key(const GridShape& shape, const Schedule& schedule, const std::vector<std::int64_t>& counts,
                      bool adds);

/// Predicted costs of the blocks of one statement, kept: grids have blocks in common, and choices are made again.
/// Several threads may ask.
class BlockCosts {
 public:
  BlockCosts(const HardwareModel& model, const CostModelFactory& costs) : model_(model), costs_(costs) {}

  const HardwareModel& model() const { return model_; }
  const CostModelFactory& factory() const { return costs_; }
  /// Is the schedule legal for so many positions along each axis, and has a cost?
  bool is_legal(const GridShape& shape, const Schedule& schedule, const std::vector<std::int64_t>& counts);
  /// Where each tile of registers has a copy of the output of its own, which is written back with strides, the cost
  /// model counts lines that one tile leaves open as if they left the caches before the next tile finishes them. So
  /// many tiles cost no more than their share of the likely sizes.
  Result<Cost> of(const GridShape& shape, const Schedule& schedule, const std::vector<std::int64_t>& counts, bool adds);
  /// By the cost model alone.
  const Result<Cost>& estimated(const GridShape& shape, const Schedule& schedule,
                                const std::vector<std::int64_t>& counts, bool adds);

 private:
  const HardwareModel& model_;
  const CostModelFactory& costs_;
  KeptValues<bool> legal_;          ///< by `block_key`
  KeptValues<Result<Cost>> known_;  ///< by `block_key`
};

/// Axes along which the copies that the schedule packs first are the same.
std::vector<bool> shared_axes(const Schedule& schedule, const GridShape& shape, const HardwareModel& model);

/// Cycles of a block with so many positions; infinite: the schedule is illegal there.
double cell_cycles(const Schedule& schedule, const Grid& grid, const std::vector<std::int64_t>& counts,
                   const std::optional<PositionsBefore>& before, BlockCosts& costs);

/// Numbers of the blocks of the cells at these sizes.
std::set<std::size_t> blocks_at(const Grid& grid, const Bindings& sizes);

/// By the cost of a block with so many positions; illegal ones last.
std::vector<const Schedule*> cheapest_first(std::vector<const Schedule*> schedules, const Grid& grid,
                                            const std::vector<std::int64_t>& counts,
                                            const std::optional<PositionsBefore>& before, BlockCosts& costs);

/// Does a sum in lanes have one round there? As many terms are added one by one then, on average.
bool has_single_round(const Grid& grid, const Bindings& sizes);

/// Predicted cost at these sizes: the sum over the cells, of which only the schedules of the blocks are read. An
/// error: a block has no cost there.
Result<Cost> cost_of(const Grid& grid, BlockCosts& costs, const Bindings& sizes);
/// Of the cells of these runs, by axis. Not of plain loops.
Result<Cost> cost_of_runs(const Grid& grid, BlockCosts& costs, const std::vector<CountedRuns>& runs);

}  // namespace isamap
