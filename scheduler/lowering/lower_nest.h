// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lowering of one nest to nodes (scheduler/lowering/lower.cpp combines the nests).

#include <functional>
#include <map>

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
  std::vector<TileLayout> tensors;      ///< layout of each whole tensor of the kernel
  bool starts_from_memory = false;      ///< the output has an initial value: inout, or written by an earlier statement
  WrittenElements written{true, true};  ///< by the whole statement
  bool completed = false;               ///< what it leaves out is assigned by later statements (ir/verify/regions.h)
  std::optional<FusedTile> fused_tile;  ///< a consumer: lowering starts at its line
  /// By line of a stage: the tensor, which is kept whole in its memory (scheduler/nest/resident_intermediate.h), over
  /// the dims of this statement.
  std::map<std::size_t, TileLayout> kept_whole;
  /// A producer: lowers the nest of the named consumer for this tile.
  std::function<Result<std::vector<Node>>(const std::string& statement, const TileLayout& tile, const Tiles& tiles)>
      continue_with;
  int only_access = -1;  ///< >= 0: a trial that checks one operand only, without calls
};

Result<std::vector<Node>> lower_nest(Lowering& lowering, const NestInput& input);

/// Sets every element of a whole tensor to a value with a scalar unit (or a fill).
Result<std::vector<Node>> set_tensor(Lowering& lowering, const TileLayout& tensor, Scalar value);

}  // namespace isamap
