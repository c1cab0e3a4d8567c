// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element-wise and reduction code distributed over GPU threads: statements that no instruction covers, on a machine
// that executes thread blocks in waves (backends/cuda/distribute_loops.h distributes such loops).
//
//   accesses       points x accesses / concurrent threads
//   memory         bytes of each tensor, once, / bandwidth of the outermost memory, shared by reads and writes
//   cycles         the larger of the two, plus the latency of the links in and out, once per wave
//
// Side by side work, on each processor, the innermost instances of one request of its port times the ports, or as many
// as there are elements to distribute. A dim tells elements apart if it stands in the index that is written. A tile
// that is fused with a producer or a consumer costs its accesses, no bytes.
//
// Sums are split by the plan that the backend prints (hwdesc/model/parallel_reduction_plan.h); only processors that
// have a block of it work. Besides the bounds above:
//
//   link           bytes read / (bandwidth of the link into registers x processors in use)
//   loads          (terms of a part / loads in flight - 1) x latency of the link: threads wait for groups of loads
//   combination    steps of the tree x (barrier + store to + load from the block's memory), added to the latency

#include <optional>

#include "scheduler/cost/thread_block_model.h"

namespace isamap {

/// Is the nest scalar code distributed over threads?
bool is_distributed(const ResolvedNest& view);

ThreadBlockTime parallel_scalar_time(const ResolvedNest& view, const TileCounts& counts);

/// Do the thread blocks of the nest, of an instruction or of scalar code, run in waves?
bool runs_in_waves(const ResolvedNest& view);

/// The time of such a nest, exposed latency included; nothing: of any other.
std::optional<ThreadBlockTime> time_in_waves(const ResolvedNest& view, const TileCounts& counts);

}  // namespace isamap
