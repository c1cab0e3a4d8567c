// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions in a line of text.

#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap::cli {

/// "fma, fma_bcast and 16 more".
std::string listed(const std::vector<InstructionId>& ids, const HardwareModel& model);

}  // namespace isamap::cli
