// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions that the cells of grids call: blocks, and copies that cells share.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cpp/emit_functions.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// The functions of one grid, by name.
struct GridFunctions {
  std::vector<std::string> blocks;                       ///< by block; "nullptr": no cell needs it
  std::vector<std::string> copies;                       ///< those that fill shared copies
  std::map<TensorId, std::vector<std::size_t>> copy_of;  ///< by input and block: number in `copies` from 1; 0: none
  /// Blocks that read such a copy where another block of the call has made it, and else the tensor.
  std::map<TensorId, std::set<std::size_t>> borrow = {};
  std::vector<GridFunctions> edges = {};  ///< of the grids at edges
};

struct BlockFunctions {
  std::vector<GridFunctions> grids;     ///< of the program, in order
  std::string tiles, remainders, sums;  ///< text of the functions; remainders: of blocks that are not tiles in every
                                        ///< axis; sums: of those whose steps along a sum are long (`has_long_steps`)
  Surroundings around;                  ///< what these functions need
};

/// Functions with the same code are printed once. `name`: the entry's, with which theirs begin. Errors: what
/// print_functions refuses.
Result<BlockFunctions> print_block_functions(const SymbolicProgram& program, const HardwareModel& model,
                                             const std::string& name);

}  // namespace isamap
