// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans and records are JSON, whose text is UTF-8; names of files may be any bytes.

#include <optional>
#include <string>

#include "cli/command_line.h"

namespace isamap::cli {

/// Why a word that is not UTF-8 cannot stand in a plan or record, with its bytes (`bad\xff.yaml`).
std::optional<Diagnostic> no_utf8(const std::string& word);
/// The same of the words of a command line that plans and records keep.
std::optional<Diagnostic> no_utf8(const Options& options);

}  // namespace isamap::cli
