// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over the tiles of several dims, whose trips may be any numbers.
//
// A block was lowered for R positions along a grid axis. A loop over `v` with R/T steps walks that axis if, wherever a
// tensor has it, its subscript is factor*(T*v + r) with 0 <= r < T, and if v occurs nowhere else but in local arrays
// with a section of their own for each step. Then every step is the same code at addresses that move by T positions: it
// neither knows its number nor how many there are. So with trip q in place of R/T in all such loops the block computes
// T*q positions, for every q:
//   - of a parallel axis: step v writes positions T*v .. T*v + T - 1 of the output, as step 0 does at a shifted
//   address;
//   - of a reduced axis: step v adds the terms of its positions to the sum.
// Inputs of a parallel axis may be read beyond the own tile (windows). A loop that only moves an input into a local
// array may have steps of more than T positions, if the move may take fewer (program/partial_moves.h).

#include <optional>

#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

struct TileLoops {
  std::map<std::string, TileLoop> loops;
  std::map<BufferId, std::vector<TileLoop>> grown;
  std::set<std::string> partial;  ///< variables of loops whose last step moves what is left
};

/// `counts`: by axis; `tiles`: positions of a step divide them; 0: the axis is not walked. Nothing: an axis with a tile
/// is not walked by such loops.
std::optional<TileLoops> tile_loops(const Program& program, const HardwareModel& model, const GridShape& shape,
                                    const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& tiles);

}  // namespace isamap
