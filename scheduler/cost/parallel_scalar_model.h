// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element-wise and reduction code distributed over GPU threads: statements that no instruction covers, on a machine
// that executes thread blocks in waves (backends/cuda/distribute_loops.h distributes such loops).
//
//   accesses       points x accesses / concurrent threads
//   memory         bytes of each tensor, once, / bandwidth of the outermost memory, shared by reads and writes
//   cycles         the larger of the two, plus the latency of the links in and out, once per wave
//
// Concurrent threads of a processor: the lanes of one request of its port times the ports, at most one per element. A
// dim is distributed if it occurs in the subscripts written. Lanes split a reduction that has a step for each of them.
// A tile fused with another statement costs its accesses, no bytes.

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
