// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helper functions of emitted files, printed only when used.

#include <set>
#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// Definitions of the machine's file for this code: its helpers without unused functions, and the named texts that the
/// code or another printed text mentions.
std::string machine_helpers(const ProgramText& program, const std::string& code);

/// Names of all helpers, reserved in the file.
std::vector<std::string> helper_names();

/// Helpers that this code mentions: texts of instructions may call them.
std::set<std::string> helpers_in(const std::string& code);

bool is_helper(const std::string& name);

/// The used helpers and their dependencies in topological order, without those that `code` does not mention.
std::string helper_text(const std::set<std::string>& used, const std::string& code);

/// Headers needed by the used helpers: "<cmath>".
std::set<std::string> helper_includes(const std::set<std::string>& used);

/// Does `code` contain this name as a whole word? says("a + i2", "i") is false.
bool says(const std::string& code, const std::string& name);

}  // namespace isamap
