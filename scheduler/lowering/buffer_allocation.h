// SPDX-License-Identifier: Apache-2.0
#pragma once
// Allocation of buffers: byte addresses in memories, numbers in register files.

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// In order of the start of live ranges. Buffers with disjoint ones may share a place, except registers that would need
/// another shape while some of their file are live. First fit; but in the memories of a machine of command streams each
/// buffer follows the one before while there is room, since commands that write a place wait for those that read what
/// it held before. Capacity is checked by the verifier.
void allocate(Program& program, const HardwareModel& model);

}  // namespace isamap
