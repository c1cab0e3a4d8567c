// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program's body as steps of the host: loops in time around launches of kernels.
//
// A kernel is a node with all it contains, or several nodes that share a buffer which a block has for itself: such a
// buffer lives no longer than a launch.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

struct Launch {
  std::vector<Node> nodes;
};
struct HostStep;
struct HostLoop {
  std::string variable;
  std::int64_t trip = 0;
  std::vector<HostStep> body;
};
struct HostStep {
  std::variant<Launch, HostLoop, Comment> is;
};

std::vector<HostStep> launches(const std::vector<Node>& body, const Program& program, const HardwareModel& model,
                               UnitId grid);

/// Buffers that the nodes read or write.
struct BufferUse {
  std::vector<bool> read, written;  ///< by buffer
};
BufferUse buffer_use(const std::vector<Node>& nodes, const Program& program);

}  // namespace isamap
