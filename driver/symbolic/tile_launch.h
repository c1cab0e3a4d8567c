// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements of symbolic kernels by instructions of thread blocks, in tiles of constant size (include/isamap/
// symbolic_program.h).

#include "isamap/compile.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Searches schedules at the likely sizes and at large ones, rounded up to whole tiles, and lowers each for several
/// numbers of tiles; equal ones are one, at most three are made. None: the best schedules compute without instructions.
/// Errors: why no program of the tiles of the likely sizes serves all.
Result<std::vector<TiledLaunch>> tiled_launches(const SymbolicKernel& kernel, std::size_t statement,
                                                const HardwareModel& model, const CompileOptions& options);

}  // namespace isamap
