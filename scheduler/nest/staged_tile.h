// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile of a `stage` line: base coordinates, layout, buffer.

#include "isamap/hardware.h"
#include "isamap/mapping.h"
#include "scheduler/nest/rerolled_instruction.h"
#include "scheduler/nest/tile_layout.h"

namespace isamap {

/// A statement and the instruction that computes it, as a `do` line pairs them.
struct Pairing {
  const Computation* statement = nullptr;       ///< fused
  InstructionForm instruction;                  ///< nullptr: element by element
  std::vector<int> operand_access;              ///< kernel access number -> instruction access number; -1: none
  std::map<std::string, std::size_t> digit_of;  ///< fused dim -> instruction dim
  std::vector<std::string> fused_dim_of;        ///< instruction dim -> fused dim; "": virtual
  int constant_operand = -1;                    ///< instruction access number that holds `constant`; -1: none
  double constant = 0;
  InstructionTree tree;  ///< of the calls that the instruction stands for; empty: it is one
};

/// By `mapping.operands` and `mapping.dims`; the statement is the fused one.
Pairing pair(const Computation& statement, InstructionForm instruction, const Mapping& mapping);

/// Can the instruction overwrite its output instead of accumulating (`start: zero`)?
bool can_start_at_zero(const Instruction& instruction);
/// Largest extent of an instruction dim.
std::int64_t full_extent(const Instruction& instruction, std::size_t dim);

/// A dim of any extent and stride (`{i: any}`): tiles need no blocks for it.
bool any_stride(const Instruction& instruction, int operand, std::size_t dim);

/// The tile of access number `access` for these `tiles` of dims, and a buffer of `memory` for it, not yet in the
/// program. An empty `layout` means the instruction's if `memory` is the operand's and not home, else the tensor's own.
struct NewTile {
  TileLayout tile;
  Buffer buffer;
};
struct TileSpec {
  int access = 0;  ///< of the statement
  MemoryId memory;
  std::vector<LayoutDigit> layout = {};
};
Result<NewTile> make_tile(const Pairing& pairing, const Kernel& kernel, const TileSpec& spec, const Tiles& tiles,
                          const HardwareModel& model);

/// Packed layout for an operand of an addressed memory: outer digits of each dim, then the instruction's, by decreasing
/// stride: [k/32, c, k%32]. Coordinates without an instruction dim stay whole (p + r). `read_as`: a move's operand of
/// the same box, whose layout replaces that of the instruction.
std::vector<LayoutDigit> blocked_layout(const Pairing& pairing, int access, const Operand* read_as = nullptr);

/// Why these digits are no layout of a tile: unsupported digits, unknown dims, or a form whose digits do not determine
/// it (j/32 with j%31), so that elements collide. Empty: they are one.
std::string layout_refusal(const std::vector<LayoutDigit>& layout, const Instruction* instruction, const Tiles& tiles);

/// Registers of one operand: of each instance for a fragment, of the unit otherwise.
int registers_of(const Instruction& instruction, int operand, DType dtype, const Memory& memory);

/// Must padding of this coordinate be 0? Yes if a reduction dim of fixed extent is mapped to it.
bool padding_must_be_zero(const Pairing& pairing, const Coordinate& coordinate);

}  // namespace isamap
