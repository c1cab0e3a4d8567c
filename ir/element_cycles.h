// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one element statement costs a scalar unit, for cost models and simulators alike (docs/cost.md).
//
// A copy of neighbours to neighbours is what compilers vectorise; a stride costs a load and a store; an index with
// divisions (a fused window) costs those too. Measured once, rounded. Anything else: one cycle for each access.

#include <string>

#include "isamap/program.h"

namespace isamap {

constexpr double contiguous_cycles = 0.5, strided_cycles = 2.5, divided_cycles = 12;

/// `inner`: the variable of the innermost loop around the statement.
double element_cycles(const Element& element, const std::vector<Buffer>& buffers, const std::string& inner);

}  // namespace isamap
