// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes a nest event by event, without data: tiles are filled and drained, calls run when their tiles are there. The
// rules stand in docs/cost.md, "Simulation"; what is occupied by what in scheduler/cost/resource_usage.h.
//
// Instances run in step; the first one of every unit, which has the most to do, sets the pace. Its events are
// simulated, the accesses of all instances are counted.

#include "scheduler/cost/resource_usage.h"

namespace isamap {

/// Something was busy with something.
struct BusySlice {
  enum class Track { calls, transfer, resource };
  Track track = Track::calls;
  int resource = 0;  ///< of a resource's track
  int flow = 0;      ///< whose tile
  bool out = false;  ///< drained, not filled
  std::int64_t number = 0;
  double begin = 0, end = 0;  ///< cycles
};

struct SimulatedNest {
  double cycles = 0;
  double fill = 0;             ///< until the first call
  double drain = 0;            ///< after the last one
  double compute = 0;          ///< calls at work
  std::vector<double> busy;    ///< by resource
  std::vector<double> waited;  ///< by flow: calls stood still until its tile was there, after the first one
  std::int64_t blocks = 0, events = 0;
  std::map<MemoryId, std::map<TensorId, Totals>> memories;
  std::vector<BusySlice> slices;  ///< in the order of their ends; empty unless asked for
  bool all_slices = true;         ///< false: there were more than were asked for
};

struct SimulationOptions {
  std::size_t slices = 0;                ///< that are kept
  std::int64_t max_blocks = 20'000'000;  ///< runs of calls; more are refused
};

/// `traffic` gives what does not depend on time: instances, tiles, caches.
Result<SimulatedNest> simulate_nest(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                                    const NestFlow& flow, const SimulationOptions& options = {});

}  // namespace isamap
