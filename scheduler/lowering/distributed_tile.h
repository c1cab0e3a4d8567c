// SPDX-License-Identifier: Apache-2.0
#pragma once
// A register tile staged above loops on the units that own the registers is distributed: each instance holds its part.
//
//   stage C in reg            accumulators of a block, 128 x 128
//   for k by 32 ..
//   for i by 64 on warp       each warp holds 64 x 64 of them across all steps of k
//
// The buffer has the registers of all instances, indexed by the number of the instance.

#include <functional>

#include "isamap/schedule.h"
#include "scheduler/lowering/tile_copy.h"

namespace isamap {

struct InstanceLoop {
  std::string dim, unit;
  std::int64_t tile = 1, count = 1;
};

/// The parallel loops below `line` on units that own an instance of this memory. Errors: parts of different size, or a
/// sequential loop of the same dim above them.
Result<std::vector<InstanceLoop>> instance_loops(const Nest& nest, std::size_t line, MemoryId memory,
                                                 const Tiles& tiles, const HardwareModel& model);

/// The nodes of `make` for each instance's part of the tile, in loops over the instances; for the whole tile if there
/// are none.
Result<std::vector<Node>> in_every_instance(
    Lowering& lowering, const TileLayout& tile, const std::vector<InstanceLoop>& loops,
    const std::function<Result<std::vector<Node>>(const TileLayout* part)>& make);

}  // namespace isamap
