// SPDX-License-Identifier: Apache-2.0
#pragma once
// Thread blocks execute in waves on the processors of a machine.
//
// waves = ceil(blocks / processors). The blocks of one processor run one after another or concurrently and share its
// ports. A wave takes the longest of
//   the calls of its instruction                 uses x interval / ports
//   the moves by each port                       uses x interval / ports
//   the links into and out of its memories       bytes / bandwidth
//   copies pipelined n stages ahead              steps x latency of the links / n
//   register loads and calls of an instance      steps x latency + calls x interval; loads one step ahead: the larger
// plus exposed latency: a barrier at every step, with single buffers also the latency of the links; prologue and
// epilogue of each wave. All blocks together take at least the bytes of the outermost memory over its bandwidth: each
// tensor once, or as often as rasterization makes tiles miss the caches (scheduler/cost/l2_reuse.h).
//
// Split reductions (`combine`): the output is initialised first, size / bandwidth + latency. Each partial sum is
// combined at the interval of that instruction; without a cache that holds the output, each also reads and writes the
// outermost memory.

#include "scheduler/cost/time_bounds.h"

namespace isamap {

/// Does the nest distribute blocks over processors?
bool runs_in_blocks(const ResolvedNest& view);

struct ThreadBlockTime {
  double cycles = 0;         ///< longest overlapped part, plus exposed latency
  std::string bound;         ///< the largest part
  std::vector<Bound> parts;  ///< overlapped, of all waves
  double first = 0;          ///< prologue: first tiles, initialisation of split sums
  double waits = 0;          ///< exposed at every step
  double last = 0;           ///< epilogue: last results

  /// Adds an overlapped part.
  void join(const std::string& name, double part) {
    parts.push_back({name, part});
    if (part <= cycles) return;
    cycles = part;
    bound = name;
  }
};
ThreadBlockTime thread_block_time(const ResolvedNest& view, const TileCounts& counts);

}  // namespace isamap
