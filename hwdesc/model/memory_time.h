// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time of a command of a stream on links and on ports of memories, in addition to the port of its unit: by `bandwidth`
// of links and memories, and `latency` of links. The simulator and the cost models of command streams use it alike.

#include <string>
#include <string_view>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// Cycles that a move keeps a port, which other moves wait for: one of a memory with a bandwidth (for reads, for
/// writes, or `shared`), or the `port` that links share. Calls share those of memories with moves.
struct SharedPortUse {
  int port = 0;  ///< numbers all such ports of a model; shared_port_name
  double cycles = 0;
};

/// The ports that a command with these extents of its dims uses. An operand whose description states no type, or bits,
/// has elements of `type`. A reduction reads what it adds to. At most two for each operand, and one of the link.
std::vector<SharedPortUse> shared_port_uses(const Instruction& command, const std::vector<std::int64_t>& extents,
                                            DType type, const HardwareModel& model);

/// Bytes that a command with these extents carries over its link: those of its result, of `type` where the description
/// states none, once for all points of a sum. 0: it has no link.
double carried_bytes(const Instruction& command, const std::vector<std::int64_t>& extents, DType type);

/// Name of the memory, or of the `port` of links.
std::string_view owner_of_shared_port(int port, const HardwareModel& model);
/// "dram of reads", "dram of writes", "port bus of links".
std::string shared_port_name(int port, const HardwareModel& model);

/// Cycles of the longest of them, rounded up, or of `moved` bytes over the command's link; 0: nothing is limited.
double transfer_cycles(const std::vector<SharedPortUse>& uses, const Instruction& command, double moved,
                       const HardwareModel& model);

/// Of `shared_port_uses`: those that later commands wait for.
std::vector<SharedPortUse> held_ports(std::vector<SharedPortUse> uses, const Instruction& command);

/// Cycles after the transfer until the result is there: the latency of the command's link, unless the command states
/// a latency of its own.
double link_latency(const Instruction& command, const HardwareModel& model);

/// Cycles from the start of a command, whose port is busy for `interval` and whose own latency is `latency`, until its
/// result is there.
double result_latency(double interval, double latency, const Instruction& command, const HardwareModel& model);

}  // namespace isamap
