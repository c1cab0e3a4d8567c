// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reuse of tiles by thread blocks in a shared cache (L2), as a function of rasterization: bytes that miss it.
//
// The order of blocks is a loop nest. A loop that an input does not use re-reads the same tiles. They hit if the tiles
// read in one step of the loop fit into the cache; if not, only concurrent blocks of several steps share them. Grouping
// rows (`raster`) shortens the reuse distance:
//
//   for i, for j                    B is re-read for each i, after all of A[i] and B
//   for i/8, for j, for i%8         B is re-read for every 8 i

#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// A loop of the order, outermost first.
struct BlockLoop {
  double trip = 1;
  std::vector<bool> used;  ///< by input: do its tiles change?
};

struct BlockInput {
  double tile = 0;  ///< bytes that one block reads
  double all = 0;   ///< bytes of the tensor
};

struct SharedCache {
  double capacity = 0;    ///< bytes
  double processors = 1;  ///< concurrent blocks
};

/// The cache between the outermost memory and this one, for blocks of this unit. No capacity: none.
SharedCache shared_cache(const HardwareModel& model, MemoryId to, UnitId block);

/// Bytes that miss the cache.
double fetched_bytes(const std::vector<BlockLoop>& loops, const std::vector<BlockInput>& inputs,
                     const SharedCache& cache);

/// The two loops with `group` steps of the first taken together.
std::vector<BlockLoop> grouped(const BlockLoop& rows, const BlockLoop& columns, double group);

}  // namespace isamap
