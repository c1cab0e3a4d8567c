// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layout of a buffer whose `stage` line states none.

#include "scheduler/nest/staged_tile.h"

namespace isamap {

/// The tensor's own at home, and where no call takes the tile; else the instruction's. Not of registers.
std::vector<LayoutDigit> default_layout(const Pairing& pairing, int access, MemoryId memory,
                                        const HardwareModel& model);

}  // namespace isamap
