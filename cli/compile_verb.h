#pragma once
// What `schedule`, `emit` and `run` share: inputs, an optional schedule file, compilation, and how it can fail.

#include <optional>

#include "cli/common.h"
#include "cli/pipeline.h"

namespace isamap::cli {

struct CompiledInputs {
  Inputs inputs;
  Compilation compiled;  ///< with a program
};

/// Empty when something failed: it has been reported (as JSON too, when asked for) and `code` says what to return.
std::optional<CompiledInputs> compile_inputs(const Options& options, Exit& code);

/// The options of the user as options of the compiler. A schedule file that cannot be read is reported.
std::optional<CompileOptions> compile_options(const Options& options, const Inputs& inputs);

}  // namespace isamap::cli
