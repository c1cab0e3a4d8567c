// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles symbolic kernels for machines with thread blocks (include/isamap/symbolic_program.h).

#include "isamap/compile.h"

namespace isamap {

/// A launch for each statement. Refused where the schedule of the likely sizes computes with instructions, which need
/// tiles of constant size: such a schedule is bound at each size instead.
SymbolicCompilation compile_launches(const SymbolicKernel& kernel, const HardwareModel& model,
                                     const CompileOptions& options);

}  // namespace isamap
