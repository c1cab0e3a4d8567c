// SPDX-License-Identifier: Apache-2.0
#pragma once
// The per-memory view of a schedule, as in Timeloop: for each memory its temporal and spatial loops by trip count, and
// the tensors it keeps.
//
//   levels:
//     - {memory: DRAM, loops: [n 2, k 4]}
//     - {memory: GLB, loops: [m 2, n 4], spatial: [m 8 x, n 2 y, k 8 y]}
//     - {memory: RF, loops: [m 4, n 4, k 2]}
//
// Trip counts become tiles from the inside out: the tile of a loop is the product of the counts below it. So `n 9` over
// tiles of 16 fits extents of 129 to 144 (the last tile is a tail), not 127.

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"
#include "support/yaml.h"

namespace isamap {

/// The nest of the kernel's only statement; lines have the source locations of their entries.
Result<Nest> nest_of_levels(const yaml::Node& levels, const Kernel& kernel, const HardwareModel& model);

}  // namespace isamap
