// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by `schedule`, `emit` and `run`: inputs, an optional schedule file, compilation, and reporting of failures.

#include <functional>
#include <optional>

#include "cli/common.h"
#include "isamap/compile.h"
#include "isamap/symbolic.h"

namespace isamap::cli {

struct CompiledInputs {
  Inputs inputs;
  Compilation compiled;  ///< with a program
};

/// Adjusts the compile options after the inputs are loaded; false: an error was reported.
using CompileHook = std::function<bool(CompileOptions&, const Inputs&)>;

/// Empty on failure: reported (as JSON too, if requested) and `code` is the exit code. `all_sizes`: with versions for
/// every size of the machine.
std::optional<CompiledInputs> compile_inputs(const Options& options, Exit& code, bool all_sizes = false,
                                             const CompileHook& hook = {});
/// The same of inputs that are loaded.
std::optional<Compilation> compile_loaded(const Options& options, const Inputs& inputs, Exit& code, bool all_sizes,
                                          const CompileHook& hook);

/// Shows the progress of a search; false once it was interrupted (cli/interrupt.h).
std::function<bool(std::int64_t evaluations, double best)> search_progress();

/// Compile options from the command line. Empty on failure (unreadable schedule file, no way to measure): reported, and
/// `code` is the exit code.
std::optional<CompileOptions> compile_options(const Options& options, const Inputs& inputs, Exit& code);

/// The same for a program for all sizes: the schedule file may have versions (include/isamap/schedule.h).
std::optional<CompileOptions> compile_options(const Options& options, const SymbolicKernel& kernel,
                                              const HardwareModel& model, Exit& code);
/// With the lines of the schedule file that the problems are about.
Diagnostics with_schedule_lines(const Options& options, Diagnostics problems);

/// Reports the failure on stderr and, with --json, on stdout; returns the code.
Exit fail_after_start(const Options& options, Exit code, const Diagnostics& problems, const Inputs& inputs,
                      const MapResult& mapped);

/// Does the strategy have the options of --strategy NAME:key=value? If not, an error was reported.
bool strategy_accepts(const Options& options, const Kernel& kernel, const HardwareModel& model);

}  // namespace isamap::cli
