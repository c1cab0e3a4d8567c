// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operand in a memory that lies in swizzled rows, and the tile layout that such an operand accepts.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/nest/staged_tile.h"

namespace isamap {

struct OperandRows {
  std::vector<LayoutDigit> layout;  ///< of a tile that the operand accepts as it lies
  std::optional<XorSwizzle> swizzle;
  std::string along;     ///< the fused dim whose neighbours lie together
  std::int64_t row = 1;  ///< and how many of them
};

/// Neighbours along one subscript, `row` together, permuted by the operand's swizzle. Nothing: the operand has another
/// kind of layout.
std::optional<OperandRows> rows_of_operand(const Pairing& pairing, int access);

}  // namespace isamap
