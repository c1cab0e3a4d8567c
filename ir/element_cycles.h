// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles of one element statement on a scalar unit, for cost models and simulators (docs/cost.md).
//
// Compilers vectorise a contiguous copy; a strided one costs a load and a store; an index with divisions (a fused
// window) costs these in addition. Measured once, rounded. Other statements: one cycle for each access.

#include <string>

#include "isamap/program.h"

namespace isamap {

constexpr double contiguous_cycles = 0.5, strided_cycles = 2.5, divided_cycles = 12;

/// `inner`: the variable of the innermost loop around the statement.
double element_cycles(const Element& element, const std::vector<Buffer>& buffers, const std::string& inner);

}  // namespace isamap
