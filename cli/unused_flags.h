// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flags that would do nothing: what a verb reads of models only, or of kernels only, is refused for the other.

#include <string>
#include <vector>

#include "cli/options.h"

namespace isamap::cli {

/// Does the command line have one of these flags? It is reported as wrong usage: "--plan " + `why`.
bool has_unused(const Options& options, const std::vector<std::string>& flags, const std::string& why,
                const std::string& hint);

/// False: an option that only models have was given with a kernel, and is reported.
bool without_model_flags(const Options& options);
/// False: an option of a program was given with --interpret, which makes none, and is reported.
bool without_program_flags(const Options& options);
/// False: an option of the compiler was given for a program that is there already, and is reported.
bool without_compiler_flags(const Options& options);
/// False: an option that only kernels have was given with a model, or one that another replaces, and is reported.
bool without_kernel_flags(const Options& options);

}  // namespace isamap::cli
