// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words of a command line that no command or flag has, told before CLI11 tells what else is missing.

#include <CLI/CLI.hpp>
#include <optional>

#include "isamap/result.h"

namespace isamap::cli {

/// Where a command should stand, or a flag of the command that is there; the hint names the nearest.
std::optional<Diagnostic> unknown_word(const CLI::App& app, int argc, const char* const* argv);

}  // namespace isamap::cli
