// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches that follow one another and need nothing of each other become one (horizontal fusion): the blocks of each
// have numbers of their own.
//
//   for block in 192:  q = ..                 for block in 576:
//   for block in 192:  k = ..            ->     if (block < 192) q = ..
//   for block in 192:  v = ..                   else if (block < 384) k = ..  else v = ..
//
// All threads of a block take the same branch, so barriers of the block stay what they are.

#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// The nodes of a launch with the blocks of all these launches, which are distributed over blocks and threads; empty:
/// one needs what another writes, they have other numbers of threads, or are more than loops over blocks with elements.
std::vector<Node> side_by_side(const std::vector<std::vector<Node>>& launches, const Program& program,
                               const HardwareModel& model, UnitId grid);

}  // namespace isamap
