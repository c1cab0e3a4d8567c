// SPDX-License-Identifier: Apache-2.0
#pragma once
// Allocation of buffers: byte addresses in memories, numbers in register files.

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// First fit by start of live ranges; buffers with disjoint ones share a place, except registers that would need
/// another shape while some of their file are live. Capacity is checked by the verifier.
void allocate(Program& program, const HardwareModel& model);

}  // namespace isamap
