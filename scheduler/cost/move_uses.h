// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements that one use of a move transfers.

#include "isamap/hardware.h"

namespace isamap {

double elements_per_use(const Instruction& move, DType type);

}  // namespace isamap
