// SPDX-License-Identifier: Apache-2.0
#pragma once
// Visualization of a simulated nest: a trace for Perfetto or chrome://tracing, and a utilization chart.

#include <string>
#include <vector>

#include "scheduler/cost/event_simulation.h"

namespace isamap {

struct Timeline {
  std::string statement;
  double begin = 0;  ///< cycles: statements run sequentially
  NestFlow flow;
  SimulatedNest simulated;
};

/// Maximum slices per statement; the trace notes truncation.
constexpr std::size_t most_trace_slices = 400'000;

/// JSON trace events (the format of chrome://tracing, which Perfetto reads): one track for the calls, for each port and
/// link with a bandwidth, and for the transfers of each tile.
std::string trace_json(const std::vector<Timeline>& timelines, const HardwareModel& model);

/// An SVG figure: a row for each track, time from left to right, darker where it is busier.
std::string utilisation_picture(const Timeline& timeline);

/// Simulates every nest in order. Diagnostics: too many steps.
Result<std::vector<Timeline>> timelines_of(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                                           std::size_t slices);

}  // namespace isamap
