// SPDX-License-Identifier: Apache-2.0
#pragma once
// What fits where, and which register tile keeps the ports busy.

#include <map>
#include <string>
#include <vector>

#include "scheduler/space/cpu_nest.h"

namespace isamap {

/// Fewest cycles a mapping can take: calls times the instruction's interval, over its ports.
double least_cycles(const Computation& unfused, const Mapping& mapping, const HardwareModel& model);

/// Steps of each parallel dim.
using RegisterTile = std::map<std::string, std::int64_t>;

/// Register tiles, at most `most` of them, the best first: fewest cycles for each
/// result by a count of one pass of the innermost loop (compute over its ports, loads over theirs, the accumulators'
/// latency), short tiles at the end of dims included; of equal ones those with the fewest loads. For each two dims and
/// each size of the first only the best size of the second is taken, so that they differ. Empty when the instruction's
/// output is not in registers.
std::vector<RegisterTile> good_register_tiles(const CpuTemplate& form, const std::vector<std::int64_t>& steps,
                                              std::size_t most);

/// A register file that is too small, with what is needed and what there is.
std::optional<Diagnostic> register_problem(const CpuTemplate& form);

/// The first level whose tiles do not fit their memory together.
std::optional<std::size_t> level_over_capacity(const CpuTemplate& form);

}  // namespace isamap
