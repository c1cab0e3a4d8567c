// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time of a command of a stream on links and on ports of memories, in addition to the port of its unit: by `bandwidth`
// of links and memories, and `latency` of links. The simulator and the cost models of command streams use it alike.

#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// Cycles that a move keeps a port of a memory, which other moves wait for. Calls share it with them. A memory with
/// `shared` bandwidth has one port, number 0.
struct MemoryUse {
  MemoryId memory;
  int port = 0;  ///< 0: reads, 1: writes
  double cycles = 0;
};

/// Of memories whose bandwidth is limited, for these extents of the instruction's dims. An operand whose description
/// states no type, or bits, has elements of `type`. A reduction reads what it adds to. At most two for each operand.
std::vector<MemoryUse> memory_uses(const Instruction& command, const std::vector<std::int64_t>& extents, DType type,
                                   const HardwareModel& model);

/// Cycles of the longest of them, rounded up, or of `moved` bytes over the command's link; 0: nothing is limited.
double transfer_cycles(const std::vector<MemoryUse>& uses, const Instruction& command, double moved,
                       const HardwareModel& model);

/// Of `memory_uses`: those that later commands wait for.
std::vector<MemoryUse> held_ports(std::vector<MemoryUse> uses, const Instruction& command);

/// Cycles after the transfer until the result is there: the latency of the command's link, unless the command states
/// a latency of its own.
double link_latency(const Instruction& command, const HardwareModel& model);

}  // namespace isamap
