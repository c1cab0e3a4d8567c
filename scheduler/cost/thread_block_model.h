// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles of a nest whose blocks are distributed to the processors of a machine and wait their turn there.
//
// Blocks come in rounds: ceil(blocks / processors) of them on the busiest processor, one after another or side by side,
// which share its ports. A round of one block takes the longest of
//   the calls of its instruction                 uses x interval / ports
//   the moves by each port                       uses x interval / ports
//   the links into and out of its memories       bytes / bandwidth
//   where tiles are asked for n steps ahead         steps x latency of the links / n
//   one instance's fetches of registers and calls   steps x latency + calls x interval; fetched a step ahead: the
//   larger
// and what nothing hides: a barrier at every step, where tiles have one buffer the latency of the links too; the links
// before the first step and behind the last one, once for each round. All blocks together take at least what the
// outermost memory needs for the bytes that it gives and takes: once, or as often as the order of blocks brings tiles
// again that the caches have lost (scheduler/cost/l2_reuse.h).
//
// Where blocks share reductions (`combine`), the output is set before: size / bandwidth + latency. Each block's part
// goes out by the combine, at its interval; where no cache on the way has room for the output, each part is read and
// written there besides.

#include "scheduler/cost/time_bounds.h"

namespace isamap {

/// Does the nest deal blocks out to processors?
bool runs_in_blocks(const ResolvedNest& view);

struct KernelTime {
  double cycles = 0;         ///< the longest of what overlaps, and what does not
  std::string bound;         ///< the largest part
  std::vector<Bound> parts;  ///< what overlaps, of all rounds
  double first = 0;          ///< cycles until first tiles are there, and until what is added to has been set
  double waits = 0;          ///< at every step
  double last = 0;           ///< of last results

  /// A part that overlaps.
  void join(const std::string& name, double part) {
    parts.push_back({name, part});
    if (part <= cycles) return;
    cycles = part;
    bound = name;
  }
};
KernelTime kernel_time(const ResolvedNest& view, const TileCounts& counts);

}  // namespace isamap
