// SPDX-License-Identifier: Apache-2.0
#pragma once
// What moves and fills share: which coordinate of a tile each dim of the instruction runs over.

#include "scheduler/lowering/tile_copy.h"

namespace isamap {

constexpr std::size_t max_reasons = 6;  ///< that a failed transfer gives

/// A move (or fill) and, for each of its dims, the coordinate of the tile that it runs over; -1: the dim has extent 1
/// here.
struct MoveShape {
  InstructionId instruction;
  std::vector<int> coordinate;
  std::vector<std::int64_t> blocks;
  std::int64_t calls = 0;

  bool loops(std::size_t coordinate_number) const;
  std::vector<bool> covered() const;  ///< by coordinate: some dim runs over it
};

/// Instructions for which `fits` holds, with every assignment of their dims, fewest calls first, unmasked first.
std::vector<MoveShape> move_shapes(const Lowering& lowering, const TileLayout& tile,
                                   const std::function<bool(const Instruction&)>& fits);

/// What the tile's coordinates are in a block that begins at `begin`.
Known known_at(const TileLayout& tile, const std::vector<AffineExpr>& begin, const MoveShape& shape,
               const Instruction& instruction);

/// False: some dim of the move would run over neighbours that lie at other distances than its operands demand.
bool distances_fit(const Lowering& lowering, const Copy& copy, const MoveShape& shape);

/// By the named moves, if one of them takes an address from each instance of a unit, which puts the elements of a
/// fragment where the instruction wants them (hwdesc/layout/layout_compose.h): nothing if none of them does.
std::optional<Result<std::vector<Node>>> per_lane_load(Lowering& lowering, const Copy& copy);

/// May a named move be used here whose result is there only later?
bool may_complete_later(const Lowering& lowering, const Copy& copy, const Instruction& move);

Result<std::vector<Node>> by_moves(Lowering& lowering, const Copy& copy);
/// The same without the hint what else to name.
Result<std::vector<Node>> moves_by_name(Lowering& lowering, const Copy& copy);
/// Where the moves behind `via` do not do: what to write so that the tile is brought over; empty: nothing is found.
std::string other_moves_to_name(Lowering& lowering, const Copy& copy);

/// Loops over every element of the tile's place in its buffer, padding included; not over those of tiles in other
/// places.
/// Of an axis of a buffer only what stands from `first` on.
struct LastOfAxis {
  std::size_t axis = 0;
  std::int64_t first = 0;
};
std::vector<Node> set_all(Lowering& lowering, const TileLayout& tile, UnitId unit, Scalar value,
                          std::optional<LastOfAxis> last = std::nullopt);
/// The last blocks of each coordinate that has padding.
std::vector<Node> set_padding(Lowering& lowering, const TileLayout& tile, UnitId unit, Scalar value);

}  // namespace isamap
