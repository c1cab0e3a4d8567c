// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point of the per-memory space: the tile below every loop, the order of the loops, tensors kept and double-buffered
// at each level.

#include <array>
#include <string>

#include "isamap/schedule.h"
#include "scheduler/cost/hierarchy/problem.h"

namespace isamap::hierarchy {

/// Loops of a dim, outermost first: at each level the time loop, then one loop on each axis. Tiles never grow inwards;
/// a loop with the tile of its parent has one step and is absent.
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

/// One step at the innermost level, everything kept in one buffer.
LevelPoint plain_point(const Problem& problem);

/// Canonical form of all points with the same schedule: loops with one step, and loops that no operand distinguishes,
/// in the order of the dims.
LevelPoint canonical(const Problem& problem, const LevelPoint& point);
std::uint64_t hash(const Problem& problem, const LevelPoint& point);  ///< of the canonical form

/// The lines of docs/schedule.md.
Nest nest_of(const Problem& problem, const LevelPoint& point, const Do& call);

}  // namespace isamap::hierarchy
