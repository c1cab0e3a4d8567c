// SPDX-License-Identifier: Apache-2.0
#pragma once
// Registers that hold what is still to be read. Between two uses of a register nothing may destroy it: a setter that
// erases a file of registers stands where none of them lives.

#include <set>
#include <utility>
#include <vector>

#include "backends/cpp/operand_storage.h"

namespace isamap {

/// A memory and a number in it; only registers that isamap numbers itself.
using LiveRegisters = std::set<std::pair<MemoryId, std::int64_t>>;

/// What lives before each item of a block and, the last, after it. A loop keeps alive what lives after it: too much is
/// safe.
std::vector<LiveRegisters> live_before(const std::vector<Item>& items, const LiveRegisters& after,
                                       const Program& program, const HardwareModel& model);

/// What lives at the end of the body of a loop (of either side of a guard), if `after` lives after the item.
LiveRegisters live_at_end_of_body(const Item& item, const LiveRegisters& after, const Program& program,
                                  const HardwareModel& model);

}  // namespace isamap
