// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unrolls the loops that the schedule marks and folds guards that the loop ranges decide.

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

/// An equivalent program without loops marked `unroll`, without trip counts below 2, without guards decided by the
/// ranges of the enclosing loops, and with simplified indices. More than `max_nodes` nodes are an error that names the
/// loop.
Result<std::vector<Node>> expand(const std::vector<Node>& nodes, const HardwareModel& model, std::int64_t max_nodes);

}  // namespace isamap
