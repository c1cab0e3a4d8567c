// SPDX-License-Identifier: Apache-2.0
#pragma once
// A buffer for one operand in an addressable memory, in the described layout: stated strides, free ones with gaps,
// swizzled, with several start positions.

#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// The buffer's axes are the terms of the layout, `i/8`, `i%8`, `k`, then the start position in a row, if rows have
/// room for several, then the number of the tile.
struct ScratchPlace {
  Buffer buffer;
  std::vector<AffineExpr> terms;  ///< over "#0", "#1", ..: the operand's subscripts
  std::int64_t starts = 1, tiles = 1;

  /// The element at `subscripts`; `number` counts uses, each at another position.
  std::vector<AffineExpr> at(const std::vector<AffineExpr>& subscripts, const AffineExpr& number) const;
};

/// Errors: a stride is no number, or the operand's memory is none that a scalar unit reads and writes.
Result<ScratchPlace> scratch_place(const HardwareModel& model, const Instruction& instruction, int access, DType dtype);

}  // namespace isamap
