#pragma once
// Whether a search asks for lines of a packed copy ahead of their use, and how far.

#include <optional>

#include "scheduler/build_nest.h"

namespace isamap {

struct AheadChoice {
  std::string cache;
  int ahead = 1;  ///< steps of the innermost walk over a reduction
};

/// A packed copy that does not fit into the cache nearest to the registers is streamed through it along the innermost
/// reduction, from panel to panel. What fetches neighbouring lines by itself stops at pages and learns each panel anew.
/// So many steps ahead as the caches behind need: their latencies / cycles of one step of the register tile. Nothing:
/// the machine has no such move or says no latencies, or neighbours in the copy are fewer than a line.
/// `steps`: of that walk. A short one is left before what it asks for is of use.
std::optional<AheadChoice> asking_for(const NormalForm& form, int access, std::int64_t steps);

}  // namespace isamap
