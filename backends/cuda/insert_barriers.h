// SPDX-License-Identifier: Apache-2.0
#pragma once
// Barriers where threads of a kernel meet the same memory.
//
// In the program's order everything comes one after another; side by side, a thread may be anywhere. A barrier stands
// between two nodes of a list if one writes a buffer that the other touches (or another buffer in the same bytes), and
// not both are done by one and the same thread. Instances of one loop need none: their order means nothing, or they
// could not run side by side.

#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// `kernel` with barriers of the grid unit and of the units inside it. `blocks`: loops on the grid unit are instances
/// too, not steps.
std::vector<Node> synchronize(const std::vector<Node>& kernel, const Program& program, const HardwareModel& model,
                              UnitId grid, bool blocks);

}  // namespace isamap
