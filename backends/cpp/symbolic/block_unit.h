// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grids of blocks as one C++ file.
//
//   static void NAME_0_2(const float* A, .., long A_s0, .., long M_n, long N_n)   // a block: one cell of the grid
//   extern "C" int NAME(const float* A, const float* B, float* C, long M, long N)
//
// The entry checks the sizes, cuts each dim into its runs, and calls the block of every cell at its first element. It
// returns 0, or 1 with a line on stderr where a size breaks a fact, and touches nothing then.

#include "backends/cpp/translation_unit.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Why blocks of a grid cannot be printed: an instruction needs as a number what is known at the call only.
Diagnostics unprintable_blocks(const Grid& grid, const HardwareModel& model);

/// `team`: all members of a team execute the entry, which is its last argument (backends/cpp/function/team.h).
Result<TranslationUnit> print_block_unit(const SymbolicProgram& program, const HardwareModel& model, bool team);

}  // namespace isamap
