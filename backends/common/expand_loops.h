// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops that the schedule unrolls, written out; guards that the loop ranges decide, decided.

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

/// The same program in which no loop is marked `unroll`, none has a trip below 2, no guard is decided by the ranges of
/// the loops around it, and every index is simplified. More than `max_nodes` nodes are an error that names the loop.
Result<std::vector<Node>> expand(const std::vector<Node>& nodes, const HardwareModel& model, std::int64_t max_nodes);

}  // namespace isamap
