// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of one `for` line as numbers: in which order instances of a unit take tiles, and how many instances.
//
// Tiles that are done at the same time should share what they read. In order, 132 of them are a few whole rows of
// tiles; `raster grouped(8)` takes 8 steps of the first loop for each of the second, so they are nearly a square
// (NVIDIA's CUTLASS, media/docs/efficient_gemm.md, "Threadblock Rasterization"). `wrap` starts as many instances as run
// at once, and each goes on with the next tile.

#include "isamap/hardware.h"
#include "isamap/result.h"
#include "isamap/schedule.h"
#include "scheduler/nest/tile_layout.h"

namespace isamap {

struct TileOrder {
  std::vector<std::int64_t> trips;  ///< of loops that together take the tiles in order, outermost first
  std::vector<AffineExpr> step;     ///< of each loop, over the numbers "#0", "#1", .. of those loops
  std::int64_t instances = 1;       ///< `wrap`: that take turns
};

/// Errors: short tiles, steps that the group does not divide, a unit that has no instances of its own.
Result<TileOrder> tile_order(const For& line, const Tiles& tiles, const HardwareModel& model);

}  // namespace isamap
