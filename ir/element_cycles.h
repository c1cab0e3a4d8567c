// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles of one element statement on a scalar unit, for cost models and simulators (docs/cost.md).
//
// Compilers vectorise a contiguous copy; a strided one costs a load and a store; an index with divisions (a fused
// window) costs these in addition.

#include <string>

#include "isamap/program.h"

namespace isamap {

/// Of copies of one element, and of each access of other statements; from the machine's `timing`.
struct ElementCycles {
  double contiguous = 0, strided = 0, divided = 0, access = 0;
};

/// `inner`: the variable of the innermost loop around the statement.
double element_cycles(const Element& element, const std::vector<Buffer>& buffers, const std::string& inner,
                      const ElementCycles& each);

}  // namespace isamap
