// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands whose layout gives every instance of a unit an address of its own (`{0: {each: lane}, 1: 1}`).

#include <optional>
#include <vector>

#include "isamap/instruction.h"

namespace isamap {

/// A layout's term as an expression of the points of a call, `$dim`: `{0: ..}` is the operand's first subscript.
AffineExpr in_points(const StrideTerm& term, const Access& access);

/// What lies between the element at the first point and the address that instance p gives, in elements of the buffer,
/// for every p that is asked. Nothing: the operand takes no such addresses, or its elements do not lie behind them as
/// it demands. `offset`: of the element at every point, over loop variables and `$dim`s.
std::optional<std::vector<std::int64_t>> own_addresses(const Instruction& instruction, int access,
                                                       const std::vector<std::int64_t>& extents,
                                                       const AffineExpr& offset);

}  // namespace isamap
