#pragma once
// Asynchronous moves in a program: groups of them, and how far behind they may be.

#include <vector>

#include "hwdesc/hardware_model.h"
#include "ir/program.h"

namespace isamap {

/// An asynchronous instruction whose uses complete in groups, as the next two functions make and await them.
bool completes_in_groups(const Instruction& instruction, const HardwareModel& model);

/// For every completion object by which calls among the nodes complete in groups: a node that makes what came so far a
/// group.
std::vector<Node> commits(const std::vector<Node>& nodes, const HardwareModel& model);
/// The same for waiting until all groups but the last `pending` are complete.
std::vector<Node> waits(const std::vector<Node>& nodes, int pending, const HardwareModel& model);

/// The nodes, and behind them what awaits all that they began.
std::vector<Node> completed(std::vector<Node> nodes, const HardwareModel& model);

}  // namespace isamap
