// SPDX-License-Identifier: Apache-2.0
#pragma once
// The per-memory view of a schedule: for each memory its loops in steps, the loops on the units below it, what it
// keeps.
//
//   levels:
//     - {memory: DRAM, loops: [n 2, k 4]}
//     - {memory: GLB, loops: [m 2, n 4], spatial: [m 8 x, n 2 y, k 8 y]}
//     - {memory: RF, loops: [m 4, n 4, k 2]}
//
// Steps become tiles from the inside: a loop of n steps gets the tile inside it. So `n 9` of tile 16 is right for an
// extent of 129 to 144, the last tile being short, and wrong for 127.

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"
#include "support/yaml.h"

namespace isamap {

/// The nest of the kernel's only statement; each line stands where the entry does that it comes from.
Result<Nest> nest_of_levels(const yaml::Node& levels, const Kernel& kernel, const HardwareModel& model);

}  // namespace isamap
