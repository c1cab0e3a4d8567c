// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a `stage` line becomes: a buffer, what fills or starts it, the lines below it, what drains it.

#include <map>
#include <set>

#include "scheduler/lowering/lower_nest_internal.h"
#include "scheduler/lowering/packing_moves.h"

namespace isamap {

class StageLowering : protected NestParts {
 public:
  explicit StageLowering(const NestParts& parts) : NestParts(parts) {}
  virtual ~StageLowering() = default;

 protected:
  /// The nodes of the lines from `at` on.
  virtual Result<Nodes> lines(std::size_t at, const Scope& scope) = 0;

  Scalar identity() const;
  bool is_reduction(const std::string& dim) const;
  // Must whatever holds the output before line `at` hold a start value? Not if a stage further in takes over before any
  // reduction is run over, and not for plain assignments.
  bool needs_start(std::size_t at) const;
  // Otherwise elements between those of a tile keep what they hold, and tiles may share elements: the whole output is
  // set at the very start, and every tile begins with what stands in memory.
  bool written_whole() const;
  bool is_cache(const std::string& memory) const;
  Result<std::vector<int>> staged_accesses(const Stage& s) const;
  Result<Nodes> stage(const Stage& s, std::size_t at, const Scope& scope);
  /// A stage in a cache with `ahead`: what it says to those below.
  Result<Scope> with_prefetch(const Stage& s, std::size_t at, MemoryId cache, const Scope& scope) const;
  /// What is asked for beside the move of this tile.
  Result<Nodes> prefetches_at(const Stage& s, int access, const TileLayout& tile, const Scope& scope);
  /// The tile's bytes lie as `swizzle` says; why not, where they cannot.
  std::optional<Diagnostic> permute(const XorSwizzle& swizzle, const TileLayout& tile, Buffer& buffer) const;
  // Tiles that follow one another along the innermost loop that the tensor uses lie in different buffers, so that moves
  // of the next one need not wait for uses of this one.
  void use_circular_buffer(int buffers, int access, const Scope& scope, TileLayout& tile, Buffer& buffer) const;
  /// Instances that run in threads and share a memory each have a tile of their own there.
  void privatize(MemoryId memory, TileLayout& tile, Buffer& buffer) const;
  static void add_buffer_axis(Buffer& buffer, std::int64_t extent);
  BufferId add_buffer(Buffer buffer, const Stage& s);
  /// The buffer of a tile at this line: a new one, or the set of registers whose turn it is.
  BufferId buffer_at(std::size_t line, Buffer buffer, const Stage& s);
  /// `combine`: is a tile in this memory, filled from that of the next one further out, a part that is added to it?
  Result<bool> is_partial_sum(const Stage& s, const TileLayout& tile, const Scope& scope) const;
  /// The move within a memory that lays this packed copy out.
  std::optional<PackingMove> packing_move_for(const TileLayout& inner, const TileLayout& outer, const Stage& s,
                                              bool into_inner, const Tiles& tiles) const;
  Result<Copy> copy_of(const TileLayout& inner, const TileLayout& outer, const Stage& s, bool into_inner,
                       const Tiles& tiles) const;
  Result<Nodes> stage_input(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                            const Scope& inner);
  Result<Nodes> fill_and_lower(const Stage& s, std::size_t at, const TileLayout& tile, int access, const Scope& scope,
                               const Scope& inner);
  /// Makes what was written to the tile visible to the instruction; nothing where it reads it by the same path.
  Nodes fence(const Stage& s) const;
  Diagnostics at_stage(const Stage& s, Diagnostics diagnostics) const;
  // How an output's tile starts: from memory where partial sums stand there, with the identity otherwise, or not at all
  // where a tile further in takes over.
  Result<Nodes> start_tile(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope, Scope& inner);
  /// Of a tile that instances of a unit share, each does its part.
  Result<Nodes> per_instance(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                             const std::function<Result<Nodes>(const TileLayout* part)>& make);
  Result<Nodes> move_output(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope, bool into_inner,
                            InstructionId combine = {});
  // Two places with parts of one element would each be stored over the other: where several points of the tile write
  // one element, the tile's coordinates have to be what the output's indices add up (p + r), not the dims.
  Diagnostics shared_element(const Stage& s, const TileLayout& tile, const Scope& scope) const;
  Result<Nodes> stage_output(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope, Scope inner);
  /// What fills the tile of stage `line` as it is where `scope` says; its buffer is there already.
  Result<Nodes> refill(std::size_t line, const Scope& scope);

  std::set<std::size_t> pipelined_lines_;  ///< lines of stages whose fills stand elsewhere
  std::map<std::size_t, BufferId> buffer_of_line_;
  /// Of stages in registers whose tiles take turns: the buffer of each set, made when it is first used.
  std::map<std::size_t, std::vector<BufferId>> registers_of_line_;
  std::map<std::size_t, std::size_t> register_set_;  ///< whose turn it is
};

/// Nodes behind nodes.
inline void append(Nodes& to, Nodes from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace isamap
