// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by moves and fills: the assignment of instruction dims to coordinates of a tile.

#include "scheduler/lowering/tile_copy.h"

namespace isamap {

constexpr std::size_t max_reasons = 6;  ///< reported for a failed transfer

/// A move (or fill) and the coordinate of the tile mapped to each of its dims; -1: none, with extent 1.
struct MoveShape {
  InstructionId instruction;
  std::vector<int> coordinate;
  std::vector<std::int64_t> blocks;
  std::int64_t calls = 0;

  bool loops(std::size_t coordinate_number) const;
  std::vector<bool> covered() const;  ///< by coordinate: mapped to a dim
};

/// Instructions for which `fits` holds, with every assignment of their dims; fewest calls, then unmasked, first.
std::vector<MoveShape> move_shapes(const Lowering& lowering, const TileLayout& tile,
                                   const std::function<bool(const Instruction&)>& fits);

/// Values of the tile's coordinates in a block at `begin`.
Known known_at(const TileLayout& tile, const std::vector<AffineExpr>& begin, const MoveShape& shape,
               const Instruction& instruction);

/// False: a dim of the move would have another stride than its operands prescribe.
bool distances_fit(const Lowering& lowering, const Copy& copy, const MoveShape& shape);

/// Loads of fragments by a named move with an address per lane (hwdesc/layout/layout_compose.h); nothing: none of them
/// is one.
std::optional<Result<std::vector<Node>>> per_lane_load(Lowering& lowering, const Copy& copy);

/// May an asynchronous move be used here?
bool may_complete_later(const Lowering& lowering, const Copy& copy, const Instruction& move);

Result<std::vector<Node>> by_moves(Lowering& lowering, const Copy& copy);
/// The same without suggestions of other moves.
Result<std::vector<Node>> moves_by_name(Lowering& lowering, const Copy& copy);
/// A `via` that can transfer the tile, if the named one cannot; empty: none is found.
std::string other_moves_to_name(Lowering& lowering, const Copy& copy);

/// Of an axis of a buffer only the elements from `first` on.
struct LastOfAxis {
  std::size_t axis = 0;
  std::int64_t first = 0;
};
/// Loops over every element of the tile, padding included; of a circular buffer only the current one.
std::vector<Node> set_all(Lowering& lowering, const TileLayout& tile, UnitId unit, Scalar value,
                          std::optional<LastOfAxis> last = std::nullopt);
/// Sets the last blocks of each coordinate that has padding.
std::vector<Node> set_padding(Lowering& lowering, const TileLayout& tile, UnitId unit, Scalar value);

}  // namespace isamap
