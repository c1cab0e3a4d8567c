// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a program is live at once in each memory, against its capacity.

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// One error for each memory that holds fewer bytes or registers than are needed at once, with what is live then.
Diagnostics exceeded_capacities(const Program& program, const HardwareModel& model);

}  // namespace isamap
