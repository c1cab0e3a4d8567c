// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the files that lower a nest: lower_nest.cpp lowers its lines, lower_call.cpp and lower_elements.cpp its
// `do` line, by an instruction or element by element.

#include "scheduler/lowering/lower_nest.h"

namespace isamap {

using Nodes = std::vector<Node>;

/// A sequential loop above some line, and its iteration there.
struct LoopStep {
  std::string dim;
  AffineExpr number;  ///< over loop variables
};

/// A stage in a cache with `ahead`: prefetches placed at the stages of the same tensor below
/// (scheduler/lowering/lower_prefetch.h).
struct PrefetchRequest {
  MemoryId cache;
  BufferId from;              ///< that holds the tensor at the line
  std::string dim;            ///< of the loop that the distance refers to
  std::int64_t distance = 0;  ///< in points of the dim
};

/// A stage in a cache with `ahead` below loops that do not use its tensor: the steps of the first loop below that does
/// prefetch the next tile line by line, spread over the passes over this one (scheduler/lowering/spread_prefetch.h).
struct SpreadPrefetch {
  InstructionId move;
  BufferId from;
  std::vector<AffineExpr> next;  ///< index of the first element of the next tile, which is contiguous
  AffineExpr pass;               ///< number of this pass
  std::size_t line = 0;          ///< of the loop whose steps prefetch
  std::int64_t steps = 1;        ///< of that loop
  std::int64_t moves = 1;        ///< in each step
  std::int64_t elements = 1;     ///< of each move
};

/// State of lowering at one line of the nest.
struct Scope {
  Tiles tiles;
  std::vector<LoopStep> steps;         ///< sequential loops with more than one step, outermost first
  std::vector<TileLayout> holders;     ///< by access number
  AffineExpr visit;                    ///< how often an instance has executed this line before
  std::optional<Tiles> flagged_since;  ///< `first flag`: the tiles at the accumulator's stage
  /// `combine`: the instruction that drains tiles of partial sums into the accumulator above; invalid: they are stored.
  InstructionId combine = {};
  std::optional<Tiles> combined;  ///< the tiles at the stage of the partial sums, complete sums for the lines below
  std::multimap<int, PrefetchRequest> prefetches;  ///< by access number
  std::vector<SpreadPrefetch> spread_prefetches;
};

struct NestParts {
  Lowering& lowering_;
  const NestInput& input_;
  const Kernel& kernel_;
  const Computation& statement_;    ///< fused
  const Instruction* instruction_;  ///< nullptr: element by element

  const Tensor& output() const { return kernel_.tensors[statement_.write.tensor.index()]; }
  bool is_reduction(const std::string& dim) const {
    const int at = statement_.domain.find(dim);
    return at >= 0 && statement_.domain.dims[static_cast<std::size_t>(at)].kind == DimKind::reduction;
  }
};

Result<Nodes> lower_call(const NestParts& parts, const Scope& scope);
Result<Nodes> lower_elements(const NestParts& parts, const Scope& scope);

}  // namespace isamap
