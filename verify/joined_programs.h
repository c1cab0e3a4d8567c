// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several programs as one, so that a target is compiled once.

#include <vector>

#include "isamap/program.h"

namespace isamap {

/// `all` and behind it the others: tensors, buffers and nodes one after the other, arguments first.
Program joined(Program all, const std::vector<Program>& others);

}  // namespace isamap
