// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which operands in registers a move can fill (or empty), from a tensor that lies in memory in a given order, with
// which addresses and free strides: layout_compose.h asked for one move, one operand and one order.

#include <string>
#include <vector>

#include "hwdesc/layout/layout_compose.h"
#include "isamap/hardware.h"

namespace isamap {

/// How the tensor lies in memory.
struct MemoryOrder {
  enum class Kind {
    rows,   ///< neighbours along `index` are adjacent, every other index has a pitch of its own
    dense,  ///< the same, with no gap: the pitches are the extents of the operand
    packed  ///< as in the register, with a pitch for its longest stride
  };
  Kind kind = Kind::rows;
  std::size_t index = 0;
};

struct Filling {
  MemoryOrder order;
  std::string reason;         ///< why not; empty: it does
  std::int64_t calls = 1;     ///< of the move, for one operand
  std::int64_t operands = 1;  ///< that one call fills
  Placement placement;        ///< of the first call
  std::vector<std::string>
      pitches;      ///< what its symbols are called: one for each index, then one for each further operand
  std::string how;  ///< "lane at [i = lane%16, k = 8*(lane/16)]", "r: pitch[i]"
  bool possible() const { return reason.empty(); }
};

/// What a move does, byte for byte: where each of its index points stands in the register and where it is addressed.
struct MoveTable {
  std::size_t in_register = 0, in_memory = 1;  ///< numbers of the operands
  std::int64_t instances = 1;                  ///< of the units that it is spread over
  std::int64_t bytes = 0;                      ///< of one instance's registers
  std::int64_t width = 1;                      ///< bytes of an element
  std::vector<std::string> each;               ///< units that supply addresses, one for each such term
  struct Point {
    bool moved = false;
    std::int64_t base = 0;              ///< which address it belongs to
    std::int64_t fixed = 0;             ///< bytes beyond it
    std::vector<std::int64_t> factors;  ///< of the free strides
    std::vector<std::int64_t> index;    ///< of the operand in memory
  };
  std::vector<std::string> strides;  ///< names of the free strides
  std::vector<Point> points;         ///< by place, instance * elements + element; not all need be `moved`
  std::int64_t elements() const { return bytes / width; }
};
/// Nothing when it is no copy between a register file and a memory. `any_width`: bytes of an element where the move
/// takes any type.
std::optional<MoveTable> move_table(const HardwareModel& model, const Instruction& move, std::int64_t any_width = 1);

/// One of the operands of `move` is in the memory of `user`'s operand, the other one is addressed.
/// `table` is move_table(model, move, bytes of that operand). Empty when they have nothing to do with each other: other
/// memories, other types, no copy.
std::vector<Filling> fillings(const HardwareModel& model, const Instruction& move, const MoveTable& table,
                              const Instruction& user, std::size_t operand);

/// "rows contiguous along k", "a dense tile, contiguous along k", "panels as the register has them"
std::string print(const MemoryOrder& order, const Operand& operand);

}  // namespace isamap
