// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON lines of a file of trials, without times: equal runs give equal bytes.

#include <optional>
#include <string>

#include "lab/run.h"

namespace isamap::lab {

std::string json_of_header(const std::string& suite_name, const Suite& suite, const RunOptions& options);
/// "its seeds are 2, not 3; its instance 'a' differs in target_hash": of the run that wrote the first of two headers.
/// Nothing: that is no header.
std::optional<std::string> differences_of_headers(const std::string& written, const std::string& now);
std::string json_of_trial(const TrialResult& trial);
/// Nothing: the line is none of a trial.
std::optional<TrialResult> parse_trial(const std::string& line);

}  // namespace isamap::lab
