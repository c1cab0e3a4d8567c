// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small functions that an emitted file may need, each printed only when used.

#include <set>
#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// What a machine's file defines for this code: its helpers without the functions that nothing names, and of the named
/// texts those that the code or another printed one says.
std::string machine_helpers(const ProgramText& program, const std::string& code);

/// Names of all helpers, which nothing else in the file may take.
std::vector<std::string> helper_names();

/// The text of the used helpers and of what they use, in an order in which each is declared before its use. What `code`
/// does not name after all is left out.
std::string helper_text(const std::set<std::string>& used, const std::string& code);

/// Headers that the used helpers include: "<cmath>".
std::set<std::string> helper_includes(const std::set<std::string>& used);

/// Whether `code` has this name as a word: says("a + i2", "i") is false.
bool says(const std::string& code, const std::string& name);

}  // namespace isamap
