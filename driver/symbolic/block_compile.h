// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles grids of blocks (include/isamap/symbolic_program.h).

#include "isamap/compile.h"

namespace isamap {

/// For each statement: searches a schedule at likely sizes, finds the tiles whose number may be any, and lowers a block
/// for each combination of runs. A schedule that does not lower so loses its copies in memory and its prefetches. A
/// statement that has no grid becomes plain loops, with a warning, unless a schedule file says otherwise.
SymbolicCompilation compile_blocks(const SymbolicKernel& kernel, const HardwareModel& model,
                                   const CompileOptions& options);

}  // namespace isamap
