// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops of scatters (ir/scatter.h), of which one iteration matters: it is computed.

#include <optional>
#include <vector>

#include "backends/cpp/function/operand_storage.h"
#include "backends/cpp/function/runtime_numbers.h"
#include "ir/scatter.h"

namespace isamap {

/// Nests around one scatter in this order: the other loops that positions depend on, one along which positions are
/// neighbours in memory last; the digits; loops over rows of elements with one position. Updates of an element keep
/// their order. `nodes` are expanded (backends/common/expand_loops.h).
/// Trips that are `numbers` (null: none is) are not known.
std::vector<Node> scatter_loops_inward(std::vector<Node> nodes, const Program& program, const RuntimeNumbers* numbers);

/// The scatter below a loop, and its item; nothing: there is none whose digits are the loop and the next ones, above
/// loops that its place does not depend on.
struct ScatterItem {
  Scatter scatter;
  const Item* element = nullptr;
};
std::optional<ScatterItem> scatter_below(const Loop& loop, const Item& item, const Program& program,
                                         const RuntimeNumbers* numbers);

}  // namespace isamap
