// SPDX-License-Identifier: Apache-2.0
#pragma once
// isamap import: converts problems, machines and schedules of another tool to our files.

#include "cli/common.h"

namespace isamap::cli {

/// Positions in `Options::files`; the last two may be empty.
enum class ImportFile : std::size_t { problem, architecture, mapping, energy };
inline constexpr std::size_t import_files = 4;

/// Writes kernel.yaml, hardware.yaml and, with a mapping, schedule.yaml into the folder of -o.
Exit verb_import_timeloop(const Options& options);

}  // namespace isamap::cli
