// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of the laboratory.

#include <optional>
#include <string>
#include <vector>

namespace isamap::cli {

/// Search path of suites: the source tree, the installed share folder.
std::vector<std::string> suite_folders();
/// The bytes of a file; empty: an error was reported.
std::optional<std::string> read_lab_file(const std::string& path);

}  // namespace isamap::cli
