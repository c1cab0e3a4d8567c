// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of an entry that runs a grid: it cuts each dim into its runs and calls the block of every cell.

#include <set>
#include <string>

#include "backends/cpp/symbolic/block_functions.h"
#include "backends/cpp/symbolic/symbolic_entry.h"
#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Where a grid computes `strip` positions from `strip0` on (program/strip_groups.h).
struct Strip {
  int axis = 0;
  std::set<TensorId> local;  ///< of the whole kernel: they hold one strip only
  std::string first = "0";   ///< row of the first strip of this thread
};

/// Statements in a scope of their own. `kernel`: the whole one; `names`: those of the entry; `strip`: null for all.
std::string grid_text(const Grid& grid, const GridFunctions& functions, const SymbolicKernel& kernel,
                      const EntryNames& names, const HardwareModel& model, const Strip* strip);

/// The statements of the grids at its edges, which `EntryNames::edges` calls.
std::string edges_text(const Grid& grid, const GridFunctions& functions, const SymbolicKernel& kernel,
                       const EntryNames& names, const HardwareModel& model);

}  // namespace isamap
