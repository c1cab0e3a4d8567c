// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inserts barriers between dependent accesses of different threads of a kernel.
//
// The program is sequential; threads are not. A barrier is needed between two nodes of a list if one writes a buffer
// that the other accesses (or a buffer in the same bytes), unless the same thread does both. Instances of one parallel
// loop need none: they are independent.

#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// `kernel` with barriers of the grid unit and of the units inside it. `blocks`: loops on the grid unit are thread
/// blocks, not sequential steps.
std::vector<Node> synchronize(const std::vector<Node>& kernel, const Program& program, const HardwareModel& model,
                              UnitId grid, bool blocks);

}  // namespace isamap
