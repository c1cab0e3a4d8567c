// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which directions of a statement go on which dims of an instruction: the direct construction.
//
// Instruction dims used by the same operands are one *slot*: how digits are spread inside a slot is layout, not
// identity. A *direction* is a step through the statement that leaves all operands without some slot in place: a unit
// step (p) or a minimal combination (p - r, p - 2*r; Graver vectors, docs/mapping.md). A rule says for each direction
// which slots it may run over, and for each slot when it may stay empty.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isamap/mapper.h"
#include "mapper/alignment.h"
#include "mapper/lattice.h"

namespace isamap {

using SlotSet = std::uint32_t;
using DirectionSet = std::uint64_t;

struct Slot {
  std::vector<int> dims;  ///< of the instruction, in its order
  OperandSet uses = 0;
  std::int64_t extent = 1;      ///< product of its dims' extents
  DirectionSet assignable = 0;  ///< directions that may be digits here, alone or tied
  DirectionSet reachable = 0;   ///< unit directions that leave all operands without this slot in place
  bool underfilled = false;     ///< unit directions alone do not fill it
  int unit_dim = -1;            ///< a dim of extent 1 with the same uses: the digit of an otherwise empty slot
  enum class Empty { never, when_reachable_are_elsewhere, always } empty = Empty::never;
};

/// A place for a direction: one slot, or several that its digit ties together.
struct Home {
  int slot = -1;
  SlotSet tied = 0;      ///< further slots
  bool partial = false;  ///< the output stands still along it: each of its elements gets several slots
  SlotSet slots() const { return SlotSet{1} << slot | tied; }
  bool operator==(const Home&) const = default;
};

struct Direction {
  IntVector column;
  int unit = -1;            ///< the dim, for a unit direction
  std::vector<Home> homes;  ///< where the rule lets it go
};

struct Choices {
  std::vector<Slot> slots;
  std::vector<Direction> directions;  ///< unit directions first, in the order of dims
  std::size_t max_ties = 0, largest_tie = 2;
  bool complete = true;  ///< false: directions were cut at a limit
};
Choices choices_of(const Alignment& alignment, Rule rule);

/// For each direction the position of its home, or -1.
using Placement = std::vector<int>;

/// Every placement, fewest digits first, until `take` returns false. False when the search was cut after `steps`.
bool each_placement(const Choices& choices, std::int64_t steps, const std::function<bool(const Placement&)>& take);

}  // namespace isamap
