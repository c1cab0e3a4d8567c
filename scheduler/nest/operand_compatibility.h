// SPDX-License-Identifier: Apache-2.0
#pragma once
// Does an instruction's operand accept a tile as it lies? Compares three maps: instruction point to operand index (the
// statement), operand index to place (the operand's layout), instruction point to place in the buffer.

#include <string>

#include "isamap/hardware.h"
#include "scheduler/nest/tile_layout.h"

namespace isamap {

/// What is known where a tile is used: ranges of the loop variables around, and what the guards around them say.
struct KnownHere {
  const HardwareModel& model;
  const Ranges& ranges;
  const std::vector<AffineExpr>& nonnegative;
};

/// The ranges of an instruction's dims `$d` for these extents.
Ranges dim_ranges(const Instruction& instruction, const std::vector<std::int64_t>& extents);

/// Empty: accepted. Otherwise why not, with the numbers: "neighbours along j are 29 elements apart in B; load_f32 needs
/// 1". `index` has one expression for each buffer axis, over loop variables (in `ranges`) and `$dim`s.
std::string refusal(const Instruction& instruction, int access, const std::vector<std::int64_t>& extents,
                    const Buffer& buffer, const TileLayout& tile, const std::vector<AffineExpr>& index,
                    const KnownHere& known);

/// The first of its questions: does the operand take elements of the tile's type?
std::string type_refusal(const Instruction& instruction, int access, DType tile);
/// The same of a tensor in an addressed memory, whose bits a call may take with the other signedness: the mapper has
/// proved that the result is the same, and moves copy bits.
std::string type_refusal_in_memory(const Instruction& instruction, int access, DType tensor);

/// May the instruction's dim take this extent?
bool allows(const DimRange& range, std::int64_t extent);

}  // namespace isamap
