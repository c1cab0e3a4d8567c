// SPDX-License-Identifier: Apache-2.0
#pragma once
// Partial sums of split reductions (`combine`) that thread blocks add at the output.

#include "scheduler/cost/block_work.h"

namespace isamap {

/// Does a cache between the partial sums and the output hold all of it? Then they are added there, and it is written
/// once.
bool combined_in_cache(const ResolvedNest& view, const BlockWork& work);

}  // namespace isamap
