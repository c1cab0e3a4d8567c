// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point of the levelled space: the tile below every loop, the order of the loops, what each level keeps and doubles.

#include <array>
#include <string>

#include "isamap/schedule.h"
#include "scheduler/cost/hierarchy/problem.h"

namespace isamap::levelled {

/// Loops of a dim from the outside: at each level the loop in time, then one loop on each axis. Tiles never grow
/// inwards; a loop whose tile is its parent's has one step and is not there.
struct LevelPoint {
  using Tiles = std::array<std::int64_t, max_dims>;
  struct At {
    Tiles time{};                                ///< tile below the loop of each dim
    std::array<Tiles, max_axes> axis{};          ///< tile below the loop on each axis, one axis after the other
    std::array<std::uint8_t, max_dims> order{};  ///< dims, outermost loop first
    std::uint32_t keep = 0;                      ///< bit per operand
    std::uint32_t doubled = 0;                   ///< kept in two buffers
    bool operator==(const At&) const = default;
  };
  std::array<At, max_levels> levels{};
  bool operator==(const LevelPoint&) const = default;
};

/// Everything in one step at the innermost level, everything kept once.
LevelPoint plain_point(const Problem& problem);

/// One form of all points that are the same schedule: order of loops with one step, and of loops between which no
/// operand can tell the difference, is the order of the dims.
LevelPoint canonical(const Problem& problem, const LevelPoint& point);
std::uint64_t hash(const Problem& problem, const LevelPoint& point);  ///< of the canonical form

/// The lines of docs/schedule.md.
Nest nest_of(const Problem& problem, const LevelPoint& point, const Do& call);

}  // namespace isamap::levelled
