#pragma once
// What fits where, and which register tile keeps the ports busy.

#include "scheduler/build_nest.h"

namespace isamap {

/// Fewest cycles a mapping can take: calls times the instruction's interval, over its ports.
double least_cycles(const Computation& unfused, const Mapping& mapping, const HardwareModel& model);

/// Steps of each parallel dim in the register tile: fewest cycles for each result by a count of one pass of the
/// innermost loop (compute over its ports, loads over theirs, the accumulators' latency), short tiles at the end of
/// dims included; of equal ones that with the fewest loads. Empty when the instruction's output is not in registers.
std::map<std::string, std::int64_t> best_register_tile(const NormalForm& form, const std::vector<std::int64_t>& steps);

/// A register file that is too small, with what is needed and what there is.
std::optional<Diagnostic> register_problem(const NormalForm& form);

/// The first level whose tiles do not fit their memory together.
std::optional<std::size_t> level_over_capacity(const NormalForm& form);

}  // namespace isamap
