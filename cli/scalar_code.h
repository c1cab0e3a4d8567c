// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings about statements that became scalar code, with reasons.

#include <string>
#include <vector>

#include "isamap/compile.h"

namespace isamap::cli {

/// "s0 is scalar code: REASON", then further reasons, one line each.
std::string scalar_code_text(const std::vector<ScalarCode>& scalar);
/// "s0: split the statement: `A` and `B`" for each split of the schedule, one line each.
std::string text_of_splits(const Kernel& kernel, const Schedule& schedule);
/// On stderr, if the machine has compute instructions and no schedule file requests scalar code.
void tell_scalar(const Options& options, const std::vector<ScalarCode>& scalar);

}  // namespace isamap::cli
