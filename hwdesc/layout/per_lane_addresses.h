// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands whose layout gives each instance of a unit a separate address (`{0: {each: lane}, 1: 1}`).

#include <optional>
#include <vector>

#include "isamap/instruction.h"

namespace isamap {

/// A layout's term as an expression of the points of a call, `$dim`: `{0: ..}` is the operand's first subscript.
AffineExpr in_points(const StrideTerm& term, const Access& access);

/// Distance from the element at the first point to the address of instance p, in elements of the buffer, for every p.
/// Nothing: the operand has no such addresses, or its elements are not at the required distances after them. `offset`:
/// of the element at every point, over loop variables and `$dim`s.
std::optional<std::vector<std::int64_t>> per_lane_offsets(const Instruction& instruction, int access,
                                                          const std::vector<std::int64_t>& extents,
                                                          const AffineExpr& offset);

}  // namespace isamap
