// SPDX-License-Identifier: Apache-2.0
#pragma once
// Capacity of tiles, and register tiles that saturate the ports.

#include <map>
#include <string>
#include <vector>

#include "scheduler/space/cpu_nest.h"

namespace isamap {

/// Lower bound of the cycles of a mapping: calls x interval / ports.
double least_cycles(const Computation& unfused, const Mapping& mapping, const HardwareModel& model);

/// Steps of each parallel dim.
using RegisterTile = std::map<std::string, std::int64_t>;

/// Up to `most` register tiles, best first: fewest cycles per result in one pass of the innermost loop (compute over
/// its ports, loads over theirs, latency of the accumulators), tails included; ties by fewest loads. For each pair of
/// dims and each size of the first only the best size of the second is kept, for diversity. Empty if the output of the
/// instruction is not in registers.
std::vector<RegisterTile> good_register_tiles(const CpuTemplate& form, const std::vector<std::int64_t>& steps,
                                              std::size_t most);

/// A register file that is exceeded, with required and available registers.
std::optional<Diagnostic> register_problem(const CpuTemplate& form);

/// The first level whose tiles exceed their memory.
std::optional<std::size_t> level_over_capacity(const CpuTemplate& form);

}  // namespace isamap
