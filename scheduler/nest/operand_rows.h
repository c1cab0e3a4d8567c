// SPDX-License-Identifier: Apache-2.0
#pragma once
// Swizzled operands of an addressed memory, in rows, and the tile layout that such an operand accepts.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/nest/staged_tile.h"

namespace isamap {

struct OperandRows {
  std::vector<LayoutDigit> layout;  ///< of a tile that the operand accepts
  std::optional<XorSwizzle> swizzle;
  std::string along;     ///< the fused dim of stride 1
  std::int64_t row = 1;  ///< its elements in a row
};

/// Rows of `row` elements along one subscript, permuted by the operand's swizzle. Nothing: the operand has another kind
/// of layout.
std::optional<OperandRows> rows_of_operand(const Pairing& pairing, int access);

}  // namespace isamap
