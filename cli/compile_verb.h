// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `schedule`, `emit` and `run` share: inputs, an optional schedule file, compilation, and how it can fail.

#include <functional>
#include <optional>

#include "cli/common.h"
#include "isamap/compile.h"

namespace isamap::cli {

struct CompiledInputs {
  Inputs inputs;
  Compilation compiled;  ///< with a program
};

/// Changes the options of a compilation once its inputs are loaded; false: it has complained.
using CompileHook = std::function<bool(CompileOptions&, const Inputs&)>;

/// Empty when something failed: it has been reported (as JSON too, when asked for) and `code` says what to return.
/// `all_sizes`: with programs for every size of the machine, as a printed file has them.
std::optional<CompiledInputs> compile_inputs(const Options& options, Exit& code, bool all_sizes = false,
                                             const CompileHook& hook = {});

/// The options of the user as options of the compiler. Empty when something failed: a schedule file that cannot be
/// read, a machine on which nothing can be measured; it has been reported and `code` says what to return.
std::optional<CompileOptions> compile_options(const Options& options, const Inputs& inputs, Exit& code);

/// Says why on stderr and, with --json, on stdout; gives the code back.
Exit fail_after_start(const Options& options, Exit code, const Diagnostics& problems, const Inputs& inputs,
                      const MapResult& mapped);

/// Has the strategy the options of --strategy NAME:key=value? Has complained when not.
bool strategy_accepts(const Options& options, const Kernel& kernel, const HardwareModel& model);

}  // namespace isamap::cli
