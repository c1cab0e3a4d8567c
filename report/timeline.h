// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulated nest to look at: a trace for Perfetto or chrome://tracing, and a picture of what is busy when.

#include <string>
#include <vector>

#include "scheduler/cost/event_simulation.h"

namespace isamap {

struct Timeline {
  std::string statement;
  double begin = 0;  ///< cycles: statements run one after the other
  NestFlow flow;
  SimulatedNest simulated;
};

/// Slices of each statement that a trace holds; what comes later is left out, and the trace says so.
constexpr std::size_t most_trace_slices = 400'000;

/// JSON trace events (the format of chrome://tracing, which Perfetto reads): one track for the calls, for each port and
/// link with a bandwidth, and for the transfers of each tile.
std::string trace_json(const std::vector<Timeline>& timelines, const HardwareModel& model);

/// An SVG figure: a row for each track, time from left to right, darker where it is busier.
std::string utilisation_picture(const Timeline& timeline);

/// Every nest simulated, one after the other. Diagnostics: too many steps.
Result<std::vector<Timeline>> timelines_of(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                                           std::size_t slices);

}  // namespace isamap
