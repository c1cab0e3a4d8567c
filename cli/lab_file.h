// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of the laboratory.

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "lab/run.h"

namespace isamap::cli {

/// Search path of suites: the source tree, the installed share folder.
std::vector<std::string> suite_folders();
/// The bytes of a file; empty: an error was reported, with the hint `made_by` where there is no such file and none of
/// a similar name.
std::optional<std::string> read_lab_file(const std::string& path, const std::string& made_by = "");
/// Warnings of lines that are left out: the first 20, and how many there are.
void tell_damaged(Diagnostics lines);

/// `lab run` and `plan lab`: the suite, what is run on it, and the flags that say so. Empty: an error was reported and
/// `code` is set.
std::optional<lab::Suite> lab_suite(const Options& options, Exit& code);
std::optional<lab::RunOptions> lab_run_options(const Options& options, Exit& code);
void add_lab_run_flags(Flags& flags);

}  // namespace isamap::cli
