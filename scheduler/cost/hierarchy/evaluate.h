// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access counts of docs/cost.md for a point of the per-memory space: the numbers of the general closed form
// (scheduler/cost/access_counts.h), without allocation. Tests compare the two on random points, and both with a counter
// that executes the nest.

#include "scheduler/cost/hierarchy/point.h"

namespace isamap::hierarchy {

/// Numbers of elements over all instances; kept as doubles: exact below 2^53.
struct Moved {
  double reads = 0, fills = 0, updates = 0;
};

struct Evaluated {
  bool fits = true;   ///< all tiles fit their memories, all loops their units
  int overfull = -1;  ///< level that does not fit
  double cycles = 0, energy_pJ = 0;
  double compute = 0;  ///< cycles of the calls alone
  std::array<std::array<Moved, max_operands>, max_levels> moved{};
  std::array<double, max_levels> instances{};
  double edp() const { return cycles * energy_pJ; }
};

Evaluated evaluate(const Problem& problem, const LevelPoint& point);

/// Bytes of tiles of these extents, double buffers counted twice.
double bytes_of(const Problem& problem, std::uint32_t keep, std::uint32_t doubled, const LevelPoint::Tiles& tile);
/// The same as a function of the extent of one dim: at_one + slope * (extent - 1).
struct BytesAlong {
  double at_one = 0, slope = 0;
};
BytesAlong bytes_along(const Problem& problem, std::uint32_t keep, std::uint32_t doubled, const LevelPoint::Tiles& tile,
                       int dim);

}  // namespace isamap::hierarchy
