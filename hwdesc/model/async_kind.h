// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the results of an asynchronous instruction become visible: a group that is awaited, a counter of bytes or
// arrivals, or a fence behind it.

#include "isamap/hardware.h"

namespace isamap {

/// An asynchronous instruction whose uses complete in groups.
bool completes_in_groups(const Instruction& instruction, const HardwareModel& model);

/// One whose uses complete by a counter (`kind: phases`).
bool completes_by_counter(const Instruction& instruction, const HardwareModel& model);

/// One whose results others see behind a fence (`kind: fence`), as streaming stores; whoever made them sees
/// them at once.
bool completes_by_fence(const Instruction& instruction, const HardwareModel& model);

}  // namespace isamap
