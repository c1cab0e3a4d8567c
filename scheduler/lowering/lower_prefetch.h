// SPDX-License-Identifier: Apache-2.0
#pragma once
// Software prefetch into caches: `stage B in l1 ahead 8`.

#include "scheduler/lowering/lower_nest_internal.h"

namespace isamap {

/// Calls that prefetch the lines of `tile`, displaced along the loop by the request's distance. They may be past the
/// end of the buffer, where a prefetch has no effect. Errors: the machine has no move into the cache that fits the
/// layout of the tile.
Result<Nodes> lower_prefetch(Lowering& lowering, const PrefetchRequest& request, const TileLayout& tile,
                             const TileLayout& from);

}  // namespace isamap
