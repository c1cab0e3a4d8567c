// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the parts of lowering a nest share: lower_nest.cpp runs over its lines, lower_call.cpp and lower_elements.cpp do
// the work of its `do` line, by an instruction or element by element.

#include "scheduler/lowering/lower_nest.h"

namespace isamap {

using Nodes = std::vector<Node>;

/// A run over in time above some line, and the number of its step there.
struct LoopStep {
  std::string dim;
  AffineExpr number;  ///< over loop variables
};

/// What a stage in a cache with `ahead` says to the stages of the same tensor below it
/// (scheduler/lowering/lower_prefetch.h).
struct PrefetchRequest {
  MemoryId cache;
  BufferId from;              ///< where the tensor stands at the line
  std::string dim;            ///< of the loop whose steps are counted
  std::int64_t distance = 0;  ///< elements of it
};

/// What is known at one line of the nest.
struct Scope {
  Tiles tiles;
  std::vector<LoopStep> steps;         ///< of loops with more than one step, outermost first
  std::vector<TileLayout> holders;     ///< by access number
  AffineExpr visit;                    ///< how often an instance has come to this line before
  std::optional<Tiles> flagged_since;  ///< `first flag`: the tiles at the accumulator's stage
  /// `combine`: by which tiles of the output are drained, where the next one further out is in the memory that it adds
  /// to; invalid: they are stored.
  InstructionId combine = {};
  std::optional<Tiles> combined;  ///< the tiles at the stage that is drained so: what is below has its sums to itself
  std::multimap<int, PrefetchRequest> prefetches;  ///< by access number
};

struct NestParts {
  Lowering& lowering_;
  const NestInput& input_;
  const Kernel& kernel_;
  const Computation& statement_;    ///< fused
  const Instruction* instruction_;  ///< nullptr: element by element

  const Tensor& output() const { return kernel_.tensors[statement_.write.tensor.index()]; }
};

Result<Nodes> lower_call(const NestParts& parts, const Scope& scope);
Result<Nodes> lower_elements(const NestParts& parts, const Scope& scope);

}  // namespace isamap
