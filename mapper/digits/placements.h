// SPDX-License-Identifier: Apache-2.0
#pragma once
// Assigns directions of a statement to dims of an instruction: the direct construction.
//
// Instruction dims used by the same operands are one *slot*: how digits are distributed inside a slot is layout, not
// identity. A *direction* is a step through the statement along which all operands without some slot are invariant: a
// unit step (p) or a minimal combination (p - r, p - 2*r; Graver vectors, docs/mapping.md). A rule gives for each
// direction its possible slots, and for each slot whether it may stay empty.

#include <cstdint>
#include <functional>
#include <vector>

#include "isamap/mapper.h"
#include "mapper/digits/alignment.h"
#include "mapper/digits/lattice.h"

namespace isamap {

using SlotSet = std::uint32_t;
using DirectionSet = std::uint64_t;

struct Slot {
  std::vector<int> dims;  ///< of the instruction, in its order
  OperandSet uses = 0;
  std::int64_t extent = 1;      ///< product of its dims' extents
  DirectionSet assignable = 0;  ///< directions that may be digits here, alone or tied
  DirectionSet reachable = 0;   ///< unit directions along which all operands without this slot are invariant
  bool underfilled = false;     ///< unit directions alone do not fill it
  int one_point_dim = -1;       ///< a dim of extent 1 with the same uses: the digit of an otherwise empty slot
  enum class Empty { never, when_reachable_are_elsewhere, always } empty = Empty::never;
};

/// A place for a direction: one slot, or several that its digit ties together.
struct Home {
  int slot = -1;
  SlotSet tied = 0;      ///< further slots
  bool partial = false;  ///< the output is invariant along it: each of its elements gets several slots
  SlotSet slots() const { return SlotSet{1} << slot | tied; }
  bool operator==(const Home&) const = default;
};

struct Direction {
  IntVector column;
  int unit = -1;            ///< the dim, for a unit direction
  std::vector<Home> homes;  ///< its possible homes under the rule
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

/// Calls `take` with every placement, fewest digits first, until it returns false. False when the search ended at the
/// limit of `steps`.
bool each_placement(const Choices& choices, std::int64_t steps, const std::function<bool(const Placement&)>& take);

}  // namespace isamap
