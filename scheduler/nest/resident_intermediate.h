// SPDX-License-Identifier: Apache-2.0
#pragma once
// An intermediate that stays whole in a memory inside of the machine, from the nest that writes it to a later one:
//
//   for i by 8                                        stage R in spad from scale      # all of it, above all loops
//   stage T in acc from product                       for i by 16
//   stage R in spad then mix      # a tile of 8 rows  ...
//
// Fusion (scheduler/nest/fused_tiles.h) runs the consumer once for each tile of its producer; here it needs all tiles,
// so both nests run as they stand. The tiles are views of one buffer, in the layout that the consumer's stage has, and
// nothing is drained or filled.

#include "scheduler/nest/fused_tiles.h"

namespace isamap {

/// Is the tensor of the producer's stage line kept whole for the consumer at its line? Nothing: it is. A problem: the
/// consumer has loops above its stage or shares the tensor with others, the memory has no addresses or is the outermost
/// one, sums of the tile are incomplete, or an index is no plain dim on both sides.
std::optional<Diagnostic> not_kept_whole(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                                         const TileFusion& pair);

}  // namespace isamap
