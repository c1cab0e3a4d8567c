// SPDX-License-Identifier: Apache-2.0
#pragma once
// Points of a coordinate of a tile that one use of a move covers along one of its dims. Lowering
// (scheduler/lowering/move_tilings.cpp) and the price of command streams (scheduler/cost/tile_uses.h) choose among the
// same.

#include <cstdint>
#include <vector>

#include "isamap/instruction.h"

namespace isamap {

/// A coordinate as the layout of its tile cuts it.
struct CutCoordinate {
  std::int64_t padded = 1;  ///< points, padding included
  std::int64_t block = 1;   ///< size of the innermost digit; 1: not split
  bool in_memory = true;    ///< not in registers, where a block is a register
};

/// Best first: a block, several whole blocks if the layouts agree, or less than a block that divides it; with `smaller`
/// (conditions on extents, strides or addresses may forbid large blocks) also smaller ones. Empty: the dim cannot
/// traverse the coordinate.
/// points_of_move({64, 8, true}, {1, 16}, true)  gives  8, 16, 4, 2, 1
std::vector<std::int64_t> points_of_move(const CutCoordinate& c, const DimRange& range, bool smaller);

}  // namespace isamap
