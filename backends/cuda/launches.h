// SPDX-License-Identifier: Apache-2.0
#pragma once
// Partitions a program's body into kernel launches and sequential host loops around them.
//
// A kernel is one node, or several nodes that share a buffer in block-private memory, whose lifetime is one launch.

#include <optional>
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

/// The memory that the threads of a block share; nothing: there is none.
std::optional<MemoryId> scratchpad_of(const HardwareModel& model, UnitId grid);

/// Does that memory hold so many bytes? Any number where its capacity is not stated.
bool block_holds(const HardwareModel& model, UnitId grid, std::int64_t bytes);

/// Buffers read or written by the nodes.
struct BufferUse {
  std::vector<bool> read, written;  ///< by buffer
};
BufferUse buffer_use(const std::vector<Node>& nodes, const Program& program);

}  // namespace isamap
