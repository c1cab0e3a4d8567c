// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rasterization: in which order the instances of a unit compute the tiles of one `for` line, and how many instances
// there are.
//
// Concurrent tiles should share inputs in the cache. In row-major order a wave of 132 blocks is a few rows of tiles;
// `raster grouped(8)` makes 8 steps of the first loop for each of the second, so that it is nearly square (NVIDIA's
// CUTLASS, media/docs/efficient_gemm.md, "Threadblock Rasterization"). `wrap` is a persistent kernel: as many instances
// as run at once, each looping over tiles.

#include "isamap/hardware.h"
#include "isamap/result.h"
#include "isamap/schedule.h"
#include "scheduler/nest/tile_layout.h"

namespace isamap {

struct TileOrder {
  std::vector<std::int64_t> trips;  ///< of the loops over tiles in that order, outermost first
  std::vector<AffineExpr> step;     ///< of each loop of the line, over the iterations "#0", "#1", .. of those loops
  std::int64_t instances = 1;       ///< of a persistent kernel
};

/// Errors: tails, a group that does not divide the steps, a unit without a grid index.
Result<TileOrder> tile_order(const For& line, const Tiles& tiles, const HardwareModel& model);

}  // namespace isamap
