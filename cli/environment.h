// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the environment asks of a run.

#include <optional>

#include "isamap/result.h"

namespace isamap::cli {

/// ISAMAP_EMULATION says how copies arrive in emulated programs: late, eager or random:SEED. ISAMAP_EMULATION_COUNTS is
/// 1 where requests are counted; 0, and empty, are not.
std::optional<Diagnostic> environment_problem();

}  // namespace isamap::cli
