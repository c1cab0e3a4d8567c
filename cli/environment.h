// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the environment variables of runs.

#include <optional>

#include "isamap/result.h"

namespace isamap::cli {

/// ISAMAP_EMULATION: completion order of asynchronous copies in emulated programs: late, eager or random:SEED.
/// ISAMAP_EMULATION_COUNTS: 1 enables memory request counters; 0 or empty disables them.
std::optional<Diagnostic> environment_problem();

}  // namespace isamap::cli
