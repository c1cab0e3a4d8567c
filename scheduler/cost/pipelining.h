// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far ahead the copies of a stage run in a thread block.

#include "scheduler/cost/term.h"

namespace isamap {

struct Pipelining {
  bool role = false;    ///< producer warps fill the next tiles while the results of this block are stored
  double restarts = 1;  ///< a circular buffer rotates along the loop right above it: prologues of a block
  double ahead = 0;     ///< steps
};

Pipelining pipelining_of(const TermContext& at, const BlockRefill& refill);

}  // namespace isamap
