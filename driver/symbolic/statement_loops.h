// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements that have no grid of blocks: plain loops over their dims serve every size (backends/cpp/plain_loops.h).

#include "driver/symbolic/grid_plan.h"
#include "isamap/compile.h"

namespace isamap {

/// Of a schedule file: it may say by which instruction the statement is computed, or that it is scalar code. Steps of a
/// recurrence need the other statements, and loops have no faces.
bool may_be_loops(const SymbolicKernel& kernel, std::size_t statement, const CompileOptions& options);

/// The statement as loops, for this reason.
PlannedGrid plain_loops(const SymbolicKernel& kernel, std::size_t statement, const HardwareModel& model,
                        const CompileOptions& options, const Diagnostic& why);

/// A warning for each statement that has no instructions, since no program with them serves all sizes. `plans`: by
/// statement, of the version that serves all sizes that no other does.
Diagnostics scalar_warnings(const SymbolicKernel& kernel, const std::vector<PlannedGrid*>& plans);

/// All statements as loops, for this reason. Only for kernels without faces on machines with C++ programs.
SymbolicCompilation compile_plain_loops(const SymbolicKernel& kernel, const HardwareModel& model,
                                        const CompileOptions& options, const Diagnostic& why);

}  // namespace isamap
