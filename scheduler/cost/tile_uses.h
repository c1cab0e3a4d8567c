// SPDX-License-Identifier: Apache-2.0
#pragma once
// Uses of a move for a tile: coordinates, points of each that one use covers, number of uses. Shared by the model
// (scheduler/cost/command_stream_model.h) and the simulation (scheduler/cost/stream_simulation.h) of command streams.

#include <span>
#include <vector>

#include "hwdesc/model/memory_time.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// A coordinate of a tile, as moves loop over it.
struct TileCoordinate {
  AffineExpr form;
  std::int64_t extent = 1;      ///< points in the tile
  std::int64_t contiguous = 1;  ///< contiguous neighbours: the digit `form % contiguous` of the layout
  std::int64_t block = 1;       ///< size of that digit, also where the tile is shorter; 1: not split
  std::int64_t run = 0;         ///< points with a constant stride outside, of fused dims r.c those of c; 0: all
  int dim = -1;                 ///< dim of the move that covers it; -1: none
  std::int64_t points = 1;      ///< covered by one use
  int order = 0;                ///< of its first digit in the layout, from the outermost
  int block_order = 0;          ///< of its digit `form % block`

  /// Of a dim of the instruction that the tensor lacks, `$j`: each element as often as its layout repeats it.
  bool replicates() const {
    const auto name = form.as_dim();
    return name && name->front() == '$';
  }
};

/// Coordinates of the tile of a stage with more than one point, the contiguous one last, for these extents of the dims
/// of the statement. No dim of a move is assigned yet. Of a tile in registers these are dims, those of the operand
/// last.
std::vector<TileCoordinate> coordinates_of(const ResolvedNest& view, int stage, const std::vector<std::int64_t>& sizes);

/// The same with dims of the move assigned: its last dim covers the contiguous coordinate, each other dim the
/// coordinate along which that saves most uses. If the tile is not contiguous at its source along that coordinate, as
/// the move requires, a coordinate of one point takes its place; a transposing move covers the coordinate that is
/// contiguous at the source. Where conditions of the move (`legal`) forbid its largest uses, the points are those that
/// lowering chooses for a full tile: fewest uses among what extents, layouts and alignment allow. In registers the
/// subscripts of the operand fix which dim covers which coordinate. Blocks whose padding is read as 0 are moved whole
/// from packed copies, unless the move sets that padding.
const std::vector<TileCoordinate>& coordinates_of_move(const ResolvedNest& view, int stage, const Instruction& move,
                                                       const std::vector<std::int64_t>& sizes);

/// First points of the uses for a tile, by coordinate, in the order of a program (scheduler/lowering/block_loops.cpp):
/// by digits of the layout, whole blocks before tails.
std::vector<std::vector<std::int64_t>> first_points(const std::vector<TileCoordinate>& tile);

/// Extents of a use of the move, minimal along dims that cover no coordinate.
std::vector<std::int64_t> least_extents(const Instruction& move);

/// Uses of a move for one tile of a stage.
struct TileMove {
  double uses = 0;
  double cycles = 0;                  ///< of its port
  double latency = 0;                 ///< of the last use
  std::vector<SharedPortUse> shared;  ///< ports of memories and links that all uses keep
};
/// For these extents of the dims of the statement; the last use along a coordinate covers the tail. Valid until the
/// next question about the stage, as the coordinates above.
const TileMove& move_of_tile(const ResolvedNest& view, int stage, const Instruction& move,
                             const std::vector<std::int64_t>& sizes);

/// A way of elements between two memories.
struct MovePath {
  MemoryId from, to;
  DType dtype;
};
/// The move for the tile of a stage: of those between the memories for its type the one with the fewest uses.
const Instruction* move_for_tile(const ResolvedNest& view, int stage, const MovePath& path);

/// The moves that the line of a stage names (`via`) and the machine has, in the order of the line. Each name is looked
/// up once for all nests with the line: machines have up to thousands of instructions.
std::span<const InstructionId> named_moves(const ResolvedNest& view, int stage);
/// Links of the elements of a stage between two memories: that of the first named move with a link between them, else
/// those on the path. `stage` -1: the tensor at home.
std::span<const LinkId> links_of(const ResolvedNest& view, int stage, MemoryId from, MemoryId to);

/// The command that sets the tile of an output to the identity before its first call, where no call starts it and
/// nothing is loaded; nullptr: none is needed, or scalar code does it.
const Instruction* clear_for_tile(const ResolvedNest& view, int stage);

/// Extents of one call for these extents below all loops, padded to the full range where a dim of the instruction
/// cannot be that short.
std::vector<std::int64_t> padded_extents(const ResolvedNest& view, const std::vector<std::int64_t>& sizes);
/// The same of extents of the instruction's dims.
std::vector<std::int64_t> padded(const ResolvedNest& view, std::vector<std::int64_t> extents);

}  // namespace isamap
