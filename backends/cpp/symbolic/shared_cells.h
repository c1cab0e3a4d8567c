// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over shares of a grid, of strips or of rows, on the threads of a machine (program/cell_shares.h).
//
//   SharedAxis shared[] = {{M, 14, 1}, {N, 32, 1}};                         // extent, tile, shares
//   distribute(shared, {{0.05 * double(M) * double(N), 3}}, 4, 1500);       // decides the shares
//   const auto of_share = [&](const long share) { .. };
//   if (const long shares = shared[0].shares * shared[1].shares; shares < 2) {
//     of_share(0);
//   } else {
//   #pragma ..
//     for (long share = 0; share < shares; ++share) of_share(share);
//   }

#include <string>
#include <vector>

#include "backends/cpp/symbolic/symbolic_entry.h"
#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Types and functions that these texts use, in front of the blocks.
std::string shared_cell_helpers();
/// In front of the parts of a program for any number of rows.
std::string shared_row_helpers();
/// Names in them: arguments have others.
std::vector<std::string> shared_words();

bool is_shared(const Grid& grid);
/// Is some grid, or one at edges?
bool is_shared(const std::vector<Grid>& grids);

/// Of a grid: up to the head of `of_share`.
std::string begin_shares(const Grid& grid, const EntryNames& names);
/// Of strips of rows (`strip_rows`) of statements: `cycles` of all.
std::string begin_strip_shares(const std::string& rows, const std::string& cycles, const CellShares& shares);
/// What a version for any number of rows calls all rows, the first row of a share and the one behind its last, and the
/// cycles of all.
struct RowShareNames {
  std::string rows, at, end, cycles;
};
/// Of rows.
std::string begin_row_shares(const RowVersion& version, const RowShareNames& names);
/// From the end of `of_share` on; `axes`: that are shared. `team`: each member of a team executes this
/// (backends/cpp/function/team.h), and waits for the others.
std::string end_shares(std::size_t axes, const HardwareModel& model, bool team);

/// Cycles of a cost: an expression over the sizes.
std::string cycles_text(const SharedCost& cost, const EntryNames& names);
/// In `of_share`, behind the runs of all axes: those of the share.
std::string own_runs(const Grid& grid);

}  // namespace isamap
