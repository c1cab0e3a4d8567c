// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a move takes a tile: coordinates, the points of each that one use covers, the uses that makes. What prices a
// stream of commands (scheduler/cost/command_stream_model.h) and what simulates one
// (scheduler/cost/stream_simulation.h) ask here.

#include <vector>

#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// A coordinate of a tile, as moves run over it.
struct Looped {
  AffineExpr form;
  std::int64_t extent = 1;  ///< points in the tile
  std::int64_t piece = 1;   ///< neighbours that lie side by side: the digit `form % piece` of the layout
  bool regular = true;      ///< neighbours lie at one distance in the memory outside; of fused dims they often do not
  int dim = -1;             ///< of the move, which runs over it; -1: none does
  std::int64_t points = 1;  ///< that one use takes
};

/// Coordinates of a stage's tile with more than one point, the one whose neighbours lie side by side last, where dims
/// of the statement have these extents. Nothing runs over them.
std::vector<Looped> coordinates_of(const ResolvedNest& view, int stage, const std::vector<std::int64_t>& sizes);

/// The same as the uses of a move take them: its last dim runs over neighbours that lie side by side, each other one
/// over the coordinate along which that saves most uses. If neighbours lie otherwise where the tile comes from, and the
/// move must have them side by side, there is a single point of none in the place of the last coordinate; a move that
/// lays them further apart where they come to takes the coordinate that lies side by side outside.
std::vector<Looped> taken_by(const ResolvedNest& view, int stage, const Instruction& move,
                             const std::vector<std::int64_t>& sizes);

/// Extents of a use of the move along dims that run over nothing.
std::vector<std::int64_t> least_extents(const Instruction& move);

/// The uses of a move that one tile of a stage takes.
struct TileMove {
  double uses = 0;
  double cycles = 0;   ///< of its port
  double latency = 0;  ///< of the last use
};
/// Where dims of the statement have these extents; the last use along a coordinate is short where its points do not
/// divide.
TileMove move_of_tile(const ResolvedNest& view, int stage, const Instruction& move,
                      const std::vector<std::int64_t>& sizes);

/// What one call covers where dims of the statement have these extents below all loops: where a dim of the instruction
/// cannot be as short as that, all of it.
std::vector<std::int64_t> padded_extents(const ResolvedNest& view, const std::vector<std::int64_t>& sizes);
/// The same of extents of the instruction's dims.
std::vector<std::int64_t> padded(const ResolvedNest& view, std::vector<std::int64_t> extents);

}  // namespace isamap
