// SPDX-License-Identifier: Apache-2.0
// Packed copies are made before the calls that use them (scheduler/cost/packing_time.h): at least the traffic of the
// copy through the caches, or its elements x cycles of the move that packs them.

#include "scheduler/cost/packing_time.h"
#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void packing_times(const TermContext& at, std::vector<TermTime>& times) {
  if (at.view.instruction) append_packing_times(at.view, at.counts, at.traffic, times);
}

}  // namespace

namespace terms {

extern const Term packing{
    "packed copy",
    "max(elements x cycles / threads, bytes / bandwidth of caches) + misses of the last level",
    "instructions.*.timing, links.*.bandwidth, begin, timing.copy_*, interleaved_rows, vector_trips",
    "measured, docs/cost_measured.md",
    Overlap::exposed,
    true,
    packing_times};

}  // namespace terms
}  // namespace isamap
