// SPDX-License-Identifier: Apache-2.0
#pragma once
// Event simulation of a nest, without data: tiles fill and drain, calls run when their tiles are ready. Rules:
// docs/cost.md, "Simulation"; occupied resources: scheduler/cost/resource_usage.h.
//
// Instances run in lockstep at the pace of the first one of every unit, which has the most work. Its events are
// simulated; accesses are counted for all instances.

#include "scheduler/cost/resource_usage.h"

namespace isamap {

/// An interval in which calls, a transfer or a resource were busy.
struct BusySlice {
  enum class Track { calls, transfer, resource };
  Track track = Track::calls;
  int resource = 0;  ///< of a resource's track
  int flow = 0;      ///< flow of the tile
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
  std::vector<double> waited;  ///< stalls of calls on its tile, after the first
  std::int64_t blocks = 0, events = 0;
  Traffic::Memories memories;
  std::vector<BusySlice> slices;  ///< by end; empty unless requested
  bool all_slices = true;         ///< false: truncated
};

struct SimulationOptions {
  std::size_t slices = 0;                ///< limit
  std::int64_t max_blocks = 20'000'000;  ///< limit of call blocks
  /// Of a command stream: steps of a loop that take as long as those before are counted and not simulated.
  bool skips_repetitions = false;
  double max_commands = 4e6;  ///< of a command stream; without repetitions
};

/// `traffic` gives what does not depend on time: instances, tiles, caches.
Result<SimulatedNest> simulate_nest(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                                    const NestFlow& flow, const SimulationOptions& options = {});

}  // namespace isamap
