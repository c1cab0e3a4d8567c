// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packed copies outside of loops that are distributed over threads: their own loops are distributed.

#include "scheduler/lowering/tile_copy.h"

namespace isamap {

/// Distributes the loops of a copy between shared memories over the threads of the machine, where what they save
/// exceeds the start of a loop (hwdesc/model/parallel_units.h). Iterations of such a loop write different elements.
std::vector<Node> shared_copy(const Lowering& lowering, std::vector<Node> copy);

}  // namespace isamap
