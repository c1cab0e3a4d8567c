// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles the loops of element statements that read across memory: `Y[i,j] = X[j,i]` reads another line of memory for
// each element, and all of them again for the next row, by when powers of two have evicted each other from the cache.
// In tiles of 16 x 16 every line that is read is used up: a transpose of 128x512 takes 95 us in rows (AVX2, 32 KB L1).

#include <vector>

#include "isamap/program.h"

namespace isamap {

/// Perfect nests of sequential loops around one assignment whose write follows memory along one loop and a read along
/// another one: these two, in tiles, are innermost. `nodes` are expanded (backends/common/expand_loops.h).
std::vector<Node> tile_copies(std::vector<Node> nodes);

}  // namespace isamap
