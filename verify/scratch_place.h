// SPDX-License-Identifier: Apache-2.0
#pragma once
// A place for one operand in a memory that programs address, laid out as the instruction's description says: stated
// strides as stated, free ones wider than need be, bytes permuted, and several places to begin at.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// The buffer's axes are the terms of the layout, `i/8`, `i%8`, `k`, then where in a row the operand begins, if rows
/// have room for several, then which of several tiles it is.
struct ScratchPlace {
  Buffer buffer;
  std::vector<AffineExpr> terms;  ///< over "#0", "#1", ..: the operand's subscripts
  std::int64_t starts = 1, tiles = 1;

  /// The element at `subscripts`; `number` counts uses, each of which has another place.
  std::vector<AffineExpr> at(const std::vector<AffineExpr>& subscripts, const AffineExpr& number) const;
};

/// Errors: a stride is no number, or the operand's memory is none that a scalar unit reads and writes.
Result<ScratchPlace> scratch_place(const HardwareModel& model, const Instruction& instruction, int access, DType dtype);

}  // namespace isamap
