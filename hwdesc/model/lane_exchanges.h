// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions by which the lanes of a warp exchange registers, found from their semantics.

#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// Instructions that give each of the `unit`s around a use a register of another one, in an order in which adding up
/// gives all of them the sum of all. Empty: the machine has no such, for registers of this type.
std::vector<InstructionId> lane_exchanges(const HardwareModel& model, UnitId unit, DType type);

}  // namespace isamap
