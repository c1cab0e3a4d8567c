// SPDX-License-Identifier: Apache-2.0
#pragma once
// What blocks read that take tiles in some order and share a cache: how often each tile comes from the memory behind
// it.
//
// The order is a row of loops. A loop that an input does not use brings the same tiles again. They are still there if
// what blocks read in one step of the loop fits into the cache; if not, only blocks of steps that run side by side
// share them. A group of rows (`raster`) makes the steps between two uses of a tile short:
//
//   for i, for j                    B comes again for each i, behind all of A[i] and B
//   for i/8, for j, for i%8         B comes again for each 8 i

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
  double processors = 1;  ///< blocks that run side by side
};

/// Of what is read from the outermost memory into this one by blocks of this unit. No capacity: there is no cache.
SharedCache shared_cache(const HardwareModel& model, MemoryId to, UnitId block);

/// Bytes that come from behind the cache.
double fetched_bytes(const std::vector<BlockLoop>& loops, const std::vector<BlockInput>& inputs,
                     const SharedCache& cache);

/// The two loops with so many steps of the first taken together.
std::vector<BlockLoop> grouped(const BlockLoop& rows, const BlockLoop& columns, double group);

}  // namespace isamap
