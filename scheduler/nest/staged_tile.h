// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a `stage` line to the tile it holds: base coordinates, layout, buffer.

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
};

/// `mapping.operands` and `mapping.dims` say which; the statement is the fused one.
Pairing pair(const Computation& statement, InstructionForm instruction, const Mapping& mapping);

/// Does the instruction have the choice to overwrite its output instead of updating it?
bool can_start_at_zero(const Instruction& instruction);
/// Largest extent of an instruction dim.
std::int64_t full_extent(const Instruction& instruction, std::size_t dim);

/// A dim of any extent whose neighbours may lie at any distance (`{i: any}`): a tile needs no blocks for it.
bool any_stride(const Instruction& instruction, int operand, std::size_t dim);

/// The tile of access number `access` below a place where `tiles` are in work, in a buffer of `memory` that is not yet
/// in the program: its description and the Buffer. An empty `layout` means what the instruction takes when `memory` is
/// the operand's and not home, and else the tensor's own.
struct NewTile {
  TileLayout tile;
  Buffer buffer;
};
Result<NewTile> make_tile(const Pairing& pairing, const Kernel& kernel, int access, MemoryId memory,
                          const std::vector<LayoutDigit>& layout, const Tiles& tiles, const HardwareModel& model);

/// Tile-blocked digits for an operand of an addressed memory: outer digits of each dim, then the instruction's own, in
/// the order of their strides: [k/32, c, k%32]. Coordinates that no instruction dim runs over stay whole (p + r).
/// `read_as`: an operand of the same box, of a move, whose layout is taken instead of the instruction's own.
std::vector<LayoutDigit> blocked_layout(const Pairing& pairing, int access, const Operand* read_as = nullptr);

/// Why these digits are no layout of a tile: unreadable digits, unknown dims, elements that share a place because the
/// digits of one form do not rebuild it (j/32 beside j%31). Empty: they are one.
std::string layout_refusal(const std::vector<LayoutDigit>& layout, const Instruction* instruction, const Tiles& tiles);

/// Registers that one operand takes: of each instance for a fragment, of the unit otherwise.
int registers_of(const Instruction& instruction, int operand, DType dtype, const Memory& memory);

/// Must padding of this coordinate hold zeros? Yes where a reduction dim of a fixed extent runs over it.
bool padding_must_be_zero(const Pairing& pairing, const Coordinate& coordinate);

}  // namespace isamap
