// SPDX-License-Identifier: Apache-2.0
#pragma once
// Does an operand accept the layout of a tile? Composes the map from instruction point to operand index (the statement)
// with that from operand index to place (the operand's layout), and compares it with the map from instruction point to
// place in the buffer.

#include <string>

#include "isamap/hardware.h"
#include "scheduler/nest/tile_layout.h"

namespace isamap {

/// What is known at the use of a tile: ranges of the enclosing loop variables, and expressions that enclosing guards
/// make >= 0.
struct KnownHere {
  const HardwareModel& model;
  const Ranges& ranges;
  const std::vector<AffineExpr>& nonnegative;
};

/// One operand of a call: the instruction's access number, and the extents of the call.
struct OperandUse {
  const Instruction& instruction;
  int access = 0;
  const std::vector<std::int64_t>& extents;

  const Operand& operand() const { return instruction.operands[operand_of_access(instruction, access).index()]; }
};

/// The ranges of an instruction's dims `$d` for these extents.
Ranges dim_ranges(const Instruction& instruction, const std::vector<std::int64_t>& extents);

/// Empty: accepted. Otherwise the reason: "neighbours along j are 29 elements apart in B; load_f32 needs 1". `index`
/// has one expression for each buffer axis, over loop variables (in `ranges`) and `$dim`s.
std::string refusal(const OperandUse& use, const Buffer& buffer, const TileLayout& tile,
                    const std::vector<AffineExpr>& index, const KnownHere& known);

/// The first of its checks: does the operand accept the tile's type?
std::string type_refusal(const Instruction& instruction, int access, DType tile);
/// The same for an addressed memory, where the other signedness is accepted too: the mapper has proved that results are
/// equal, and moves copy bits.
std::string type_refusal_in_memory(const Instruction& instruction, int access, DType tensor);

/// Is the extent legal for the instruction's dim?
bool allows(const DimRange& range, std::int64_t extent);

}  // namespace isamap
