#pragma once
// Which dims of a statement go on which dims of an instruction: the direct construction for unit columns.
//
// Instruction dims used by the same operands are one *slot*: how digits are spread inside a slot is layout, not
// identity. A rule says for each dim of the statement which slots it may walk, and for each slot when it may stay
// empty.

#include <cstdint>
#include <string>
#include <vector>

#include "mapper/alignment.h"
#include "mapper/mapper.h"

namespace isamap {

struct Slot {
  std::vector<int> dims;  ///< of the instruction, in its order
  OperandSet uses = 0;
  std::uint32_t walkable = 0;   ///< dims of the statement that may be digits here
  std::uint32_t reachable = 0;  ///< unit directions that leave all operands without this slot in place
  int stand_in = -1;            ///< a dim of extent 1 with the same uses: the digit of an otherwise empty slot
  enum class Empty { never, when_reachable_are_elsewhere, always } empty = Empty::never;
};

std::vector<Slot> slots_of(const Alignment& alignment, Rule rule);

/// For each dim of the statement its slot, or -1.
using Placement = std::vector<int>;

struct Placements {
  std::vector<Placement> list;  ///< fewest digits first
  bool limit_reached = false;
};
Placements place_directly(const std::vector<Slot>& slots, std::size_t dims, std::int64_t limit);

}  // namespace isamap
