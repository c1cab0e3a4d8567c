// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operands in registers that a move can fill (or empty) from a tensor in memory in a given order, with the
// addresses and free strides: layout_compose.h applied to one move, one operand and one order.

#include <string>
#include <vector>

#include "hwdesc/layout/layout_compose.h"
#include "isamap/hardware.h"

namespace isamap {

/// The order of the tensor in memory.
struct MemoryOrder {
  enum class Kind {
    rows,   ///< neighbours along `index` are adjacent, every other index has its own pitch
    dense,  ///< the same without gaps: the pitches are the extents of the operand
    packed  ///< as in the register, with a pitch for its longest stride
  };
  Kind kind = Kind::rows;
  std::size_t index = 0;
};

struct Filling {
  MemoryOrder order;
  std::string reason;                ///< why not; empty: it can
  std::int64_t calls = 1;            ///< of the move, for one operand
  std::int64_t operands = 1;         ///< that one call fills
  Placement placement;               ///< of the first call
  std::vector<std::string> pitches;  ///< names of its symbols: one for each index, then one for each further operand
  std::string how;                   ///< "lane at [i = lane%16, k = 8*(lane/16)]", "r: pitch[i]"
  bool possible() const { return reason.empty(); }
};

/// A move, byte for byte: the register place and the memory address of each of its index points.
struct MoveTable {
  std::size_t in_register = 0, in_memory = 1;  ///< numbers of the operands
  std::int64_t instances = 1;                  ///< of the units that it is distributed over
  std::int64_t bytes = 0;                      ///< of one instance's registers
  std::int64_t width = 1;                      ///< bytes of an element
  std::vector<std::string> each;               ///< units that supply addresses, one for each such term
  struct Point {
    bool moved = false;
    std::int64_t base = 0;              ///< number of its address
    std::int64_t fixed = 0;             ///< bytes after the address
    std::vector<std::int64_t> factors;  ///< of the free strides
    std::vector<std::int64_t> index;    ///< of the operand in memory
  };
  std::vector<std::string> strides;  ///< names of the free strides
  std::vector<Point> points;         ///< by place, instance * elements + element; not all need be `moved`
  std::int64_t elements() const { return bytes / width; }
};
/// Nothing when it is no copy between a register file and a memory. `any_width`: bytes of an element where the move
/// supports any type.
std::optional<MoveTable> move_table(const HardwareModel& model, const Instruction& move, std::int64_t any_width = 1);

/// Can the move fill `user`'s operand? One operand of `move` is in its memory, the other one has addresses. `table` is
/// move_table(model, move, bytes of that operand). Empty when they are unrelated: other memories, other types, no copy.
std::vector<Filling> fillings(const HardwareModel& model, const Instruction& move, const MoveTable& table,
                              const Instruction& user, std::size_t operand);

/// "rows contiguous along k", "a dense tile, contiguous along k", "panels as the register has them"
std::string print(const MemoryOrder& order, const Operand& operand);

}  // namespace isamap
