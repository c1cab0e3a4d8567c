// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles against capacities: stages that need more registers or bytes than their memory has.

#include "scheduler/cost/traffic.h"

namespace isamap {

/// One diagnostic a memory, at the line of its largest stage.
Diagnostics capacity_problems(const ResolvedNest& view, const TileCounts& counts);

}  // namespace isamap
