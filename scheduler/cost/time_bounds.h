// SPDX-License-Identifier: Apache-2.0
#pragma once
// What keeps a nest from being faster, in cycles of the busiest instance, and what does not fit (docs/cost.md).

#include <string>
#include <vector>

#include "scheduler/cost/traffic.h"

namespace isamap {

struct Bound {
  std::string name;  ///< "compute", "port load", "link ld", "memory GLB"
  double cycles = 0;
  bool of_cache = false;  ///< what flows into it
};

/// The calls themselves: throughput of their ports, or the chain of updates through too few accumulators.
Bound compute_bound(const ResolvedNest& view, const TileCounts& counts);
/// Moves occupy ports, links and memories have bandwidths.
std::vector<Bound> move_bounds(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);
std::vector<Bound> link_bounds(const ResolvedNest& view, const Traffic& traffic);
std::vector<Bound> memory_bounds(const ResolvedNest& view, const Traffic& traffic);
/// Cycles that nothing hides beside copies (scheduler/cost/packing_time.h): transfers of scratchpads with a single
/// buffer ...
double single_buffer_cycles(const ResolvedNest& view, const Traffic& traffic);

/// ... and the waits for first lines of rows, where nothing has asked for them before they are used;
double stream_start_cycles(const Traffic& traffic);
/// ... and what a tile of the output in registers stores at once beyond the lines that the nearest cache can wait for
/// beside those being read, half of them: while these are written nothing is computed. Where `computing` takes longer
/// than `moving` between caches, stores are written by the time the next ones come.
double store_burst_cycles(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic, double computing,
                          double moving);

/// ... and what it takes to fetch tiles of sums again that a loop of the reduction further out has put back: the calls
/// that add to them wait for all of their lines, and for the latency of each link that these take.
double partial_sum_reload_cycles(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);

/// ... and what the outermost cache has lost, beyond the longest bound: of tensors that it holds in part the rest is
/// lost in long stretches, during which only the link into it counts.
double llc_miss_phase_cycles(const ResolvedNest& view, const Traffic& traffic, const std::vector<Bound>& bounds);

/// Elements that one use of a move carries.
double piece(const Instruction& move, DType type);

/// Registers or bytes that the stages of each memory need, where there are fewer.
Diagnostics capacity_problems(const ResolvedNest& view, const TileCounts& counts);

}  // namespace isamap
