// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fusion of a consumer into the tile loops of its producer: `stage C in vec then act`. The nest of `act` has a line
// `stage C in vec from mm` at the same tile and is lowered from there inwards, once for each complete tile, while it is
// in registers; if nothing else reads C, it is never stored. The same construct serves epilogues of products (bias,
// activation, requantisation) and chains of products (Hidet, arXiv 2210.09603, section 4.2, calls it post-scheduling
// fusion; FusionStitching, arXiv 2009.10924, section 3, thread composition).
//
// Without `then` and `from` both nests are complete schedules, which pass C through memory.

#include "scheduler/nest/staged_tile.h"

namespace isamap {

/// Does a statement read the tensor?
bool reads(const Computation& statement, TensorId tensor);

struct TileFusion {
  StatementId from, to;
  std::size_t from_line = 0, to_line = 0;  ///< the two `stage` lines
  bool whole = false;  ///< the consumer waits for all tiles (scheduler/nest/resident_intermediate.h)
};

/// All fusions of a schedule, by producer line. Diagnostics, at their line: an unknown statement or a missing
/// counterpart; tiles or memories that differ; a producer whose tile is incomplete; a consumer that depends on more
/// than the tile (it reduces beyond it; it reads what a statement in between writes; it overwrites what one still
/// reads).
Result<std::vector<TileFusion>> tile_fusions(const Schedule& schedule, const Kernel& kernel,
                                             const HardwareModel& model);

/// Is a fused tile also stored? Not if all readers of its tensor are fused.
bool is_stored(const Kernel& kernel, StatementId producer, const Stage& stage);

/// Where the consumer's nest starts: the tiles of its dims, and the producer's tile in terms of the consumer's dims.
struct FusedTile {
  std::size_t line = 0;  ///< `stage ... from`
  Tiles tiles;
  std::map<int, TileLayout> holders;  ///< by access number of the consumer
};
/// `tile` of the producer's statement (fused), whose dims have `tiles`, in terms of `consumer` (fused). Precondition:
/// `tile_fusions` accepts the pair.
FusedTile make_fused_tile(const Computation& producer, const TileLayout& tile, const Tiles& tiles,
                          const Computation& consumer, std::size_t line);

}  // namespace isamap
