// SPDX-License-Identifier: Apache-2.0
#pragma once
// Environment variables of runs, each of them read here. Emulated programs, which are processes of their own, read
// ISAMAP_EMULATION and ISAMAP_EMULATION_COUNTS by themselves (backends/cuda/emulation/).

#include <optional>

#include "isamap/result.h"

namespace isamap {

/// ISAMAP_EMULATION: completion order of asynchronous copies in emulated programs: late, eager or random:SEED. Is it
/// set, so that no GPU is used?
Result<bool> asks_for_emulation();
/// ISAMAP_EMULATION_COUNTS: 1 enables memory request counters; 0 or empty disables them.
Result<bool> counts_requests();
inline constexpr double default_compile_seconds = 300;
/// ISAMAP_COMPILE_SECONDS: how long each compiler may take, a number above 0.
Result<double> compile_seconds();

/// Of the first of them with a value that means nothing.
std::optional<Diagnostic> environment_problem();

}  // namespace isamap
