// SPDX-License-Identifier: Apache-2.0
#pragma once
// `stage C in vec then act`: a tile of C that is complete goes straight to the next statement. The nest of `act` has a
// line `stage C in vec from mm` at the same tile, and is carried out from there inwards, once for each tile, before
// anything else needs the registers; where nothing else reads C, it is never stored. One construct for epilogues of
// products (bias, activation, requantisation) and for chains of them (Hidet, arXiv 2210.09603, section 4.2, calls it
// post-scheduling fusion; FusionStitching, arXiv 2009.10924, section 3, thread composition).
//
// Both nests are schedules by themselves: without the other's words each computes its statement from memory.

#include "scheduler/nest/staged_tile.h"

namespace isamap {

/// Does a statement read the tensor?
bool reads(const Computation& statement, TensorId tensor);

struct TileFusion {
  StatementId from, to;
  std::size_t from_line = 0, to_line = 0;  ///< the two `stage` lines
};

/// All of a schedule, by consumer. Diagnostics, at the place of the line: a statement or counterpart that is not there,
/// another tile or memory, a producer whose tile is not complete, a consumer that may not run so early (it adds up
/// more than the tile has; it reads what another statement between the two writes; it overwrites what is still read).
Result<std::vector<TileFusion>> tile_fusions(const Schedule& schedule, const Kernel& kernel,
                                             const HardwareModel& model);

/// Is a tile that is handed on stored too? Not if its tensor is read by nobody else.
bool is_stored(const Kernel& kernel, StatementId producer, const Stage& stage);

/// What the consumer's nest begins with: the tiles of its dims, and the producer's tile of the tensor as each of the
/// consumer's accesses sees it.
struct FusedTile {
  std::size_t line = 0;  ///< `stage ... from`
  Tiles tiles;
  std::map<int, TileLayout> holders;  ///< by access number of the consumer
};
/// `tile`, of the producer's statement (fused) where `tiles` are in work, as `consumer` (fused) sees it. Only for pairs
/// that `tile_fusions` found nothing wrong with.
FusedTile make_fused_tile(const Computation& producer, const TileLayout& tile, const Tiles& tiles,
                          const Computation& consumer, std::size_t line);

}  // namespace isamap
