// SPDX-License-Identifier: Apache-2.0
#pragma once
// What happens to the tiles of a nest when one of its loops advances: which are renewed, by how many elements.

#include <cstdint>
#include <vector>

#include "scheduler/cost/access_counts_by_step.h"
#include "scheduler/cost/resource_usage.h"

namespace isamap {

/// A tile of a flow among those below a loop.
enum class WhichTile { first, before_last, last };

/// All loops of one nest: which of them renew the tiles of its flows.
class TileRenewals {
 public:
  using Extents = std::vector<std::int64_t>;  ///< points of each dim

  /// Keeps references to all of them.
  TileRenewals(const ResolvedNest& view, const TileCounts& counts, const NestFlow& flow, const LoopTable& table);

  /// Is the tile of a flow renewed when the loop advances, all dims having these extents outside it?
  bool renewed(std::size_t flow, std::size_t loop, const Extents& outside) const;

  /// The loop, if the tile of the flow slides when it advances and no loop inside it restarts; else -1. `inside`:
  /// extents below it.
  int slides(std::size_t flow, std::size_t loop, const Extents& inside) const;

  /// Elements of a tile of a flow below the loops from `loop` on. `slid`: the loop that advanced along a sliding
  /// window; -1: none.
  VisitMoved moved(std::size_t flow, const Extents& outside, std::size_t loop, WhichTile which, int slid = -1) const;

 private:
  const ResolvedNest& view_;
  const TileCounts& counts_;
  const NestFlow& flow_;
  const LoopTable& table_;
  std::vector<double> spread_;    ///< by flow: elements of all instances relative to the first
  mutable Extents tile_, group_;  ///< kept, so that no call allocates
};

}  // namespace isamap
