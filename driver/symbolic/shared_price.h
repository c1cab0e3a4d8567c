// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the cells of grids cost on several threads (program/cell_shares.h).
//
// Schedules, blocks and versions are those of one thread, so that results are the same for any number of them. Threads
// are worth their start by the cycles of a point, and of an element of a copy, at the likely sizes:
//
//   copies = 2 * cost(counts) - cost(counts, twice as many along an axis that no copy has),  points = cost - copies

#include "driver/symbolic/grid_price.h"
#include "isamap/compile.h"

namespace isamap {

/// Sets `Grid::shares` of all grids of the program, those at edges, too, for the threads of the machine.
void share_cells(SymbolicProgram& program, const HardwareModel& machine, const CostModelFactory& costs);

/// Costs of blocks, by statement. `one_thread` (hwdesc/model/parallel_units.h) and `costs` must outlive them.
std::vector<BlockCosts> costs_of_statements(const SymbolicProgram& program, const HardwareModel& one_thread,
                                            const CostModelFactory& costs);

/// Predicted cost of a version of grids: cycles are those of the longest share, and of starting the loop over shares.
/// Copies of padded inputs, and those that several threads make of one input, are no part of it. An error: a block has
/// no cost there.
Result<Cost> cost_on_threads(const SymbolicProgram& program, std::size_t version, const Bindings& sizes,
                             std::vector<BlockCosts>& costs);

}  // namespace isamap
