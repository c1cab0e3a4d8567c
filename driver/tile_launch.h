// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements of symbolic kernels by instructions of thread blocks, in tiles of constant size (include/isamap/
// launch_program.h).

#include "isamap/compile.h"
#include "isamap/launch_program.h"

namespace isamap {

/// Searches a schedule at the likely sizes, rounded up to whole tiles, and lowers it for several numbers of tiles.
/// Nothing: the best schedule computes without instructions. Errors: why no program of its tiles serves all sizes.
Result<std::optional<TiledLaunch>> tiled_launch(const SymbolicKernel& kernel, std::size_t statement,
                                                const HardwareModel& model, const CompileOptions& options);

}  // namespace isamap
