// SPDX-License-Identifier: Apache-2.0
#pragma once
// One nest to nodes (scheduler/lowering/lower.cpp puts nests together).

#include <functional>

#include "scheduler/lowering/tile_copy.h"
#include "scheduler/nest/fused_tiles.h"
#include "scheduler/nest/staged_tile.h"
#include "scheduler/nest/write_coverage.h"

namespace isamap {

struct NestInput {
  const Kernel* kernel = nullptr;
  StatementId id;
  Pairing pairing;
  const Nest* nest = nullptr;
  std::vector<TileLayout> tensors;      ///< where each tensor of the kernel lies as a whole, by tensor
  bool starts_from_memory = false;      ///< the output holds a value already: inout, or an earlier statement wrote it
  WrittenElements written{true, true};  ///< by the whole statement
  std::optional<FusedTile> fused_tile;  ///< begin at its line, with it
  /// `then`: what the named statement's nest becomes with this tile.
  std::function<Result<std::vector<Node>>(const std::string& statement, const TileLayout& tile, const Tiles& tiles)>
      continue_with;
  int only_access = -1;  ///< >= 0: a trial for one operand; the others are taken for granted, nothing is called
};

Result<std::vector<Node>> lower_nest(Lowering& lowering, const NestInput& input);

/// Sets every element of a whole tensor to a value with a scalar unit (or a fill).
Result<std::vector<Node>> set_tensor(Lowering& lowering, const TileLayout& tensor, Scalar value);

}  // namespace isamap
