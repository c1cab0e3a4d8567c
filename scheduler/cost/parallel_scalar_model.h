// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles of a statement that is computed element by element where the threads of a language share its elements: what no
// instruction covers, elementwise code and sums, on a machine whose blocks wait their turn
// (backends/cuda/distribute_loops.h deals such loops out).
//
//   accesses       points x accesses / threads that work side by side
//   memory         bytes of each tensor, once, / bandwidth of the outermost memory, which reads and writes share
//   cycles         the larger of the two, and what nothing hides: the links in and out, once for each round of blocks
//
// Side by side work, on each processor, the innermost instances of one request of its port times the ports, or as many
// as there are elements to distribute. A dim tells elements apart if it stands in the index that is written. A tile that
// is fused with a producer or a consumer costs its accesses, no bytes.
//
// Sums are split by the plan that the backend prints (hwdesc/model/parallel_reduction_plan.h); only processors that have
// a block of it work. Besides the bounds above:
//
//   link           bytes read / (bandwidth of the link into registers x processors in use)
//   loads          (terms of a part / loads in flight - 1) x latency of the link: a thread waits for each group of loads
//   combination    steps of the tree x (barrier + store to + load from the block's memory), added to the latency

#include <optional>

#include "scheduler/cost/thread_block_model.h"

namespace isamap {

/// Is the nest scalar code whose elements are distributed?
bool is_dealt_out(const ResolvedNest& view);

KernelTime dealt_time(const ResolvedNest& view, const TileCounts& counts);

/// Do its blocks, or those that its scalar code is distributed to, come in rounds on the processors?
bool comes_in_rounds(const ResolvedNest& view);

/// Of such a nest, with what overlap cannot hide; nothing: of any other.
std::optional<KernelTime> time_in_rounds(const ResolvedNest& view, const TileCounts& counts);

}  // namespace isamap
