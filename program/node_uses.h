// SPDX-License-Identifier: Apache-2.0
#pragma once
// The buffers and numbers that a node of a program uses, with those inside it.

#include <set>
#include <string>

#include "isamap/program.h"

namespace isamap {

struct NodeUses {
  std::set<BufferId> read, written;
  std::set<std::string> variables;  ///< of loops
  std::set<std::int64_t> extents;   ///< of calls
  bool plain = true;                ///< loops, calls and elements only
};
NodeUses uses_of(const Node& node);

}  // namespace isamap
