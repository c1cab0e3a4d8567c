// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a search asks for lines ahead of their use, and how far.

#include <optional>

#include "scheduler/space/cpu_nest.h"

namespace isamap {

struct PrefetchChoice {
  std::string cache;
  int ahead = 1;  ///< steps of the innermost loop over a reduction
};

/// The innermost loop over a reduction.
struct InnermostLoop {
  std::string dim;
  std::int64_t steps = 1;   ///< a short loop is left before what it asks for is of use
  std::int64_t passes = 1;  ///< over the same elements of the access, one after the other
  std::int64_t again = 0;   ///< bytes of the access that a loop further out takes again; 0: none does
};

/// A packed copy that does not fit into the cache nearest to the registers is streamed through it along the innermost
/// reduction, from panel to panel. What fetches neighbouring lines by itself stops at pages and learns each panel anew;
/// so it does where each step of that loop takes parts of another row of the tensor itself, which comes from farther
/// than the second cache, and rows conflict in few sets of the nearest. So many steps ahead as the caches behind need:
/// their latencies / cycles of one step of the register tile; of rows, a third of those that have room. Nothing: the
/// machine has no such move or says no latencies, neighbours are fewer than a line, most passes find the lines there,
/// or the links take much longer than the calls.
std::optional<PrefetchChoice> choose_prefetch(const CpuTemplate& form, int access, const InnermostLoop& loop);

}  // namespace isamap
