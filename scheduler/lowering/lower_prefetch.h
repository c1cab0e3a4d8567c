// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles whose lines are asked for some steps before they are used: `stage B in l1 ahead 8`.

#include "scheduler/lowering/lower_nest_internal.h"

namespace isamap {

/// Calls that ask for what `tile` is a tile of, that much further along the loop. Past the ends of the buffer too:
/// there, lines are asked for that nobody needs. Refused: the machine has no move into the cache that takes neighbours
/// of the tile.
Result<Nodes> lower_prefetch(Lowering& lowering, const PrefetchRequest& request, const TileLayout& tile,
                             const TileLayout& from);

}  // namespace isamap
