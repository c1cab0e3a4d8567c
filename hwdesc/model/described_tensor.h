// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor that the host describes to a machine (`object`), and which box of it a use takes.
//
// The machine knows sizes and pitches; a use gives positions, and what lies outside the sizes is not there. So a use
// may reach beyond the tensor, where an address could not.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

/// Innermost first.
struct DescribedTensor {
  std::vector<std::string> names;          ///< as texts ask for positions: "x" of {S.coord[x]}
  std::vector<AffineExpr> position;        ///< of the first element, over loop variables
  std::vector<std::int64_t> sizes, box;    ///< elements
  std::vector<std::int64_t> pitches;       ///< bytes between neighbours, from the second dim on
  std::optional<XorSwizzle> swizzle = {};  ///< of the other operand: how the box lies where it is taken to
};

/// What access `access` of a use says of `buffer`, whose axes have these indices, over loop variables and `$dim`s. Axes
/// outside those that the instruction loops are further rows. Errors: the axes are no such rows; the use may reach past
/// the end of rows behind which others follow.
Result<DescribedTensor> described_tensor(const Instruction& instruction, int access, const Buffer& buffer,
                                         const std::vector<AffineExpr>& index, const std::vector<std::int64_t>& extents,
                                         const Ranges& ranges);

}  // namespace isamap
