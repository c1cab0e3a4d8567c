// SPDX-License-Identifier: Apache-2.0
#pragma once
// Concatenates programs, so that a target is compiled once.

#include <vector>

#include "isamap/program.h"

namespace isamap {

/// `all` followed by the others: concatenated tensors, buffers and nodes, arguments first.
Program joined(Program all, const std::vector<Program>& others);

}  // namespace isamap
