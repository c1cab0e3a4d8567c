// SPDX-License-Identifier: Apache-2.0
#pragma once
// Verbs about all sizes of a symbolic kernel: one program with versions.

#include <optional>

#include "cli/compile_verb.h"
#include "isamap/compile.h"

namespace isamap::cli {

/// With the options of the command line; nothing: an error was reported and `code` is set. Where there is no program
/// for all sizes the result says why.
std::optional<SymbolicCompilation> symbolic_program_of(const Options& options, const SymbolicKernel& kernel,
                                                       const HardwareModel& model, Exit& code);

Exit emit_symbolic(const Options& options, const SymbolicKernel& kernel);
Exit schedule_symbolic(const Options& options, const SymbolicKernel& kernel);
/// What is left to the call, and the facts that would remove it.
Exit explain_symbolic(const Options& options, const SymbolicKernel& kernel);

}  // namespace isamap::cli
