// SPDX-License-Identifier: Apache-2.0
#pragma once
// Register liveness. A setter that clobbers a register file may only be placed where none of its registers is live.

#include <set>
#include <utility>
#include <vector>

#include "backends/cpp/function/operand_storage.h"

namespace isamap {

/// Register file and register number; only registers allocated by isamap.
using LiveRegisters = std::set<std::pair<MemoryId, std::int64_t>>;

/// Live registers before each item of a block and, last, after it. Conservative: registers live after a loop are live
/// in it.
std::vector<LiveRegisters> live_before(const std::vector<Item>& items, const LiveRegisters& after,
                                       const Program& program, const HardwareModel& model);

/// Live-out of the body of a loop (of either side of a guard), given the live-out `after` of the item.
LiveRegisters live_at_end_of_body(const Item& item, const LiveRegisters& after, const Program& program,
                                  const HardwareModel& model);

}  // namespace isamap
