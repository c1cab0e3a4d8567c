// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asynchronous calls in a program: groups of them, and how far behind they may be.

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/model/async_kind.h"
#include "isamap/program.h"

namespace isamap {

/// Every instance of the fence's unit, and every thread, that such calls are distributed to ends with the fence, once:
/// at the end of its part of the outermost loop over instances, or else of the program.
void append_fences(std::vector<Node>& nodes, const HardwareModel& model);

/// The object by which calls among the nodes complete, if that is a counter.
std::optional<std::string> completion_counter(const std::vector<Node>& nodes, const HardwareModel& model);

/// For every completion object by which calls among the nodes complete in groups: a node that makes what came so far a
/// group.
std::vector<Node> commits(const std::vector<Node>& nodes, const HardwareModel& model);
/// The same for waiting until all groups but the last `pending` are complete.
std::vector<Node> waits(const std::vector<Node>& nodes, int pending, const HardwareModel& model);

/// Before calls that complete in groups: what they use is as the calls before them left it. Nothing where the machine
/// asks for nothing.
std::vector<Node> opens(const std::vector<Node>& nodes, const HardwareModel& model);

/// The nodes, behind them what awaits all that they began, and before them what opens it.
std::vector<Node> with_completion(std::vector<Node> nodes, const HardwareModel& model);

}  // namespace isamap
