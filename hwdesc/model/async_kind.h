// SPDX-License-Identifier: Apache-2.0
#pragma once
// Completion of asynchronous instructions: a group to wait for, a counter of bytes or arrivals, or a fence after them.

#include "isamap/hardware.h"

namespace isamap {

/// An asynchronous instruction whose uses complete in groups.
bool completes_in_groups(const Instruction& instruction, const HardwareModel& model);

/// One whose uses complete by a counter (`kind: phases`).
bool completes_by_counter(const Instruction& instruction, const HardwareModel& model);

/// One whose results become visible to other threads after a fence (`kind: fence`), as streaming stores; the issuing
/// thread sees them at once.
bool completes_by_fence(const Instruction& instruction, const HardwareModel& model);

}  // namespace isamap
