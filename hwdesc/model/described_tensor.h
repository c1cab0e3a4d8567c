// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor with a descriptor built by the host (`object`), and the box of it that a use accesses.
//
// The machine knows sizes and pitches; a use gives positions, and elements outside the sizes do not exist. So a use may
// exceed the tensor, where an address could not.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

/// Innermost first.
struct DescribedTensor {
  std::vector<std::string> names;          ///< in placeholders of positions: "x" of {S.coord[x]}
  std::vector<AffineExpr> position;        ///< of the first element, over loop variables
  std::vector<std::int64_t> sizes, box;    ///< elements
  std::vector<std::size_t> axes;           ///< of the tensor
  std::vector<std::int64_t> pitches;       ///< bytes between neighbours, from the second dim on
  std::optional<XorSwizzle> swizzle = {};  ///< of the other operand: the layout of the box at its destination
};

/// The box of `buffer` in access `access` of a use, with these indices over loop variables and `$dim`s. Axes outside
/// the instruction's axes are further rows. Errors: the axes are no such rows; the use may exceed rows that others
/// follow.
Result<DescribedTensor> described_tensor(const Instruction& instruction, int access, const Buffer& buffer,
                                         const std::vector<AffineExpr>& index, const std::vector<std::int64_t>& extents,
                                         const Ranges& ranges);

}  // namespace isamap
