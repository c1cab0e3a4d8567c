// SPDX-License-Identifier: Apache-2.0
#pragma once
// Completion of asynchronous calls: commit and wait groups, counters, fences.

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/model/async_kind.h"
#include "isamap/program.h"

namespace isamap {

/// Each instance of the fence's unit, and each thread, with such calls ends with one fence: at the end of the outermost
/// loop over instances, else of the program.
void append_fences(std::vector<Node>& nodes, const HardwareModel& model);

/// The completion object of calls among the nodes, if it is a counter.
std::optional<std::string> completion_counter(const std::vector<Node>& nodes, const HardwareModel& model);

/// Commits: for each group-wise completion object of calls among the nodes, a node that closes the group.
std::vector<Node> commits(const std::vector<Node>& nodes, const HardwareModel& model);
/// Waits until all groups but the last `pending` are complete.
std::vector<Node> waits(const std::vector<Node>& nodes, int pending, const HardwareModel& model);

/// Fences before group-wise calls, which order accesses to the registers they use; none if the machine needs none.
std::vector<Node> opens(const std::vector<Node>& nodes, const HardwareModel& model);

/// The nodes, with an open before and a commit and a full wait after them.
std::vector<Node> with_completion(std::vector<Node> nodes, const HardwareModel& model);

}  // namespace isamap
