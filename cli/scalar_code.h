// SPDX-License-Identifier: Apache-2.0
#pragma once
// Telling that statements became scalar code, and why.

#include <string>
#include <vector>

#include "isamap/compile.h"

namespace isamap::cli {

/// "s0 is scalar code: REASON", then more reasons, a line each.
std::string scalar_code_text(const std::vector<ScalarCode>& scalar);
/// "s0: split the statement: `A` and `B`" for each of the schedule's splits, a line each.
std::string text_of_splits(const Kernel& kernel, const Schedule& schedule);
/// On stderr, where the machine has instructions that compute and no schedule file says so.
void tell_scalar(const Options& options, const std::vector<ScalarCode>& scalar);

}  // namespace isamap::cli
