// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unknown words of a command line, reported before CLI11's own errors.

#include <CLI/CLI.hpp>
#include <optional>

#include "isamap/result.h"

namespace isamap::cli {

/// Unknown command, or unknown flag of the given command; the hint names the nearest known word.
std::optional<Diagnostic> unknown_word(const CLI::App& app, int argc, const char* const* argv);

}  // namespace isamap::cli
