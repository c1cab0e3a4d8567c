// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conditions that the steps of a loop do not change.

#include <vector>

#include "isamap/program.h"

namespace isamap {

/// Innermost loops, in front of which is asked what else each of their steps would ask: whether a tile lies at the
/// border. Two copies of the loop for each such condition, of which those that decide others are asked first; where
/// that makes more than four, the loop stays as it is. GCC 12 keeps sums that a branch in the loop updates in memory,
/// where instructions are printed as assembly: 240 instead of 480 us for a 3x3 convolution of bytes, 28x28x64 -> 128.
/// `nodes` are expanded (backends/common/expand_loops.h).
std::vector<Node> hoist_guards(std::vector<Node> nodes);

}  // namespace isamap
