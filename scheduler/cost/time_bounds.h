// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lower bounds of the time of a nest, in cycles of the busiest instance, the exposed latencies added to them, and tiles
// that exceed a capacity (docs/cost.md).

#include <string>
#include <vector>

#include "scheduler/cost/traffic.h"

namespace isamap {

struct Bound {
  std::string name;  ///< "compute", "port load", "link ld", "memory GLB"
  double cycles = 0;
  bool of_cache = false;  ///< bandwidth of a cache fill
};

/// Calls: throughput of their ports, or the dependence chain of updates through too few accumulators.
Bound compute_bound(const ResolvedNest& view, const TileCounts& counts);
/// Ports occupied by moves, bandwidths of links, caches and memories.
std::vector<Bound> move_bounds(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);
std::vector<Bound> link_bounds(const ResolvedNest& view, const Traffic& traffic);
std::vector<Bound> memory_bounds(const ResolvedNest& view, const Traffic& traffic);
/// Exposed cycles, beside packing (scheduler/cost/packing_time.h): transfers into scratchpads with a single buffer ...
double single_buffer_cycles(const ResolvedNest& view, const Traffic& traffic);

/// ... and starts of prefetch streams that no software prefetch covers;
double stream_start_cycles(const Traffic& traffic);
/// ... and store bursts: lines of an accumulator tile beyond half the miss buffers (`misses`) of the nearest cache, the
/// other half serving loads, drain while nothing is computed. Where `computing` takes longer than `moving` between
/// caches, stores drain before the next burst.
double store_burst_cycles(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic, double computing,
                          double moving);

/// ... and partial-sum reloads: where a loop of the reduction outside the accumulators spills their tiles, the calls
/// that update them wait for all of their lines and for the latency of each link on the path.
double partial_sum_reload_cycles(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);

/// ... and LLC miss phases, beyond the longest bound: the evicted part of partly resident tensors is read in long runs
/// during which only the memory link is busy.
double llc_miss_phase_cycles(const ResolvedNest& view, const Traffic& traffic, const std::vector<Bound>& bounds);

/// Elements that one use of a move transfers.
double elements_per_use(const Instruction& move, DType type);

/// Stages that need more registers or bytes than their memory has.
Diagnostics capacity_problems(const ResolvedNest& view, const TileCounts& counts);

}  // namespace isamap
