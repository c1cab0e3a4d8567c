// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tile in registers that stands above loops on units which own those registers: each instance holds its share.
//
//   stage C in reg            the sums of a block, 128 x 128
//   for k by 32 ..
//   for i by 64 on warp       each warp holds 64 x 64 of them, over all steps of k
//
// In the program the buffer has the registers of all instances, and the number of the instance chooses among them.

#include <functional>

#include "isamap/schedule.h"
#include "scheduler/lowering/tile_copy.h"

namespace isamap {

struct InstanceLoop {
  std::string dim, unit;
  std::int64_t tile = 1, count = 1;
};

/// The loops below `line` on units that have a memory of this kind each, where such units run side by side. Errors:
/// their shares are not alike, or a loop in time of the same dim stands before them.
Result<std::vector<InstanceLoop>> instance_loops(const Nest& nest, std::size_t line, MemoryId memory,
                                                 const Tiles& tiles, const HardwareModel& model);

/// What `make` makes of each instance's part of the tile, in loops over the instances; of the whole tile without loops.
Result<std::vector<Node>> in_every_instance(
    Lowering& lowering, const TileLayout& tile, const std::vector<InstanceLoop>& loops,
    const std::function<Result<std::vector<Node>>(const TileLayout* part)>& make);

}  // namespace isamap
