// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lowering of a `stage` line: a buffer, its fill or initialization, the lines below, its drain.

#include <map>
#include <set>

#include "scheduler/lowering/lower_nest_internal.h"
#include "scheduler/nest/packing_moves.h"

namespace isamap {

class StageLowering : protected NestParts {
 public:
  explicit StageLowering(const NestParts& parts) : NestParts(parts) {}
  virtual ~StageLowering() = default;

 protected:
  /// The nodes of the lines from `at` on.
  virtual Result<Nodes> lines(std::size_t at, const Scope& scope) = 0;

  Scalar identity() const;
  // Must the holder of the output at line `at` be initialized? Not for plain assignments, nor if a stage below, above
  // all reduction loops, initializes its own tile.
  bool needs_start(std::size_t at) const;
  // If not, tiles may share elements or leave some out: the whole output is initialized first, and every tile is loaded
  // from memory.
  bool written_whole() const;
  bool is_cache(const std::string& memory) const;
  /// Does the tile of the output begin with the identity at its first visit, and is loaded from memory later only? In a
  /// command stream, where the output has a single stage; elsewhere it is initialized in memory.
  bool starts_at_first_visit() const;
  Result<std::vector<int>> staged_accesses(const Stage& s) const;
  Result<Nodes> stage(const Stage& s, std::size_t at, const Scope& scope);
  /// A stage of a tensor that is kept whole in its memory: neither filled nor drained.
  Result<Nodes> stage_kept(const Stage& s, std::size_t at, const TileLayout& whole, const std::vector<int>& accesses,
                           const Scope& scope);
  /// The scope below a stage in a cache with `ahead`.
  Result<Scope> with_prefetch(const Stage& s, std::size_t at, MemoryId cache, const Scope& scope) const;
  /// The prefetches placed at the load of this tile.
  Result<Nodes> prefetches_at(const Stage& s, int access, const TileLayout& tile, const Scope& scope);
  /// Swizzles the addresses of the tile; a problem if it does not fit.
  std::optional<Diagnostic> permute(const XorSwizzle& swizzle, const TileLayout& tile, Buffer& buffer) const;
  /// The dims of the statement below the loops above a line, where no tile is short.
  Tiles full_tiles(std::size_t line) const;
  /// Consecutive tiles along the innermost sequential loop of the tensor are in different buffers, so that loads of the
  /// next tile need not wait for uses of this one.
  void use_circular_buffer(std::size_t line, int access, const Scope& scope, TileLayout& tile, Buffer& buffer) const;
  /// Parallel threads that share a memory get private tiles in it.
  void privatize(MemoryId memory, TileLayout& tile, Buffer& buffer) const;
  static void add_buffer_axis(Buffer& buffer, std::int64_t extent);
  BufferId add_buffer(Buffer buffer, const Stage& s);
  /// The buffer of a tile at this line: a new one, or the current set of registers.
  BufferId buffer_at(std::size_t line, Buffer buffer, const Stage& s);
  /// `combine`: does this stage hold partial sums, which are added to the next tile further out?
  Result<bool> is_partial_sum(const Stage& s, const TileLayout& tile, const Scope& scope) const;
  /// The move within a memory that packs this copy.
  std::optional<PackingMove> packing_move_for(const TileLayout& inner, const TileLayout& outer, const Stage& s,
                                              bool into_inner, const Tiles& tiles) const;
  Result<Copy> copy_of(const TileLayout& inner, const TileLayout& outer, const Stage& s, bool into_inner,
                       const Tiles& tiles) const;
  Result<Nodes> stage_input(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                            const Scope& inner);
  Result<Nodes> fill_and_lower(const Stage& s, std::size_t at, const TileLayout& tile, int access, const Scope& scope,
                               const Scope& inner);
  /// Makes writes to the tile visible to the instruction; none if both use the same view of the memory.
  Nodes fence(const Stage& s) const;
  Diagnostics at_stage(const Stage& s, Diagnostics diagnostics) const;
  // Initialization of an output's tile: from memory if partial sums are there, else with the identity; none if an inner
  // tile is initialized instead.
  Result<Nodes> start_tile(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope, Scope& inner);
  /// Of a tile that a cut reduction visits several times: the identity, or `first flag`, at its first visit.
  Result<Nodes> start_or_reload(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                                Scope& inner);
  /// ... or with the copy that the sums begin with. `partial`: the reduction is cut above.
  Result<Nodes> begin_tile(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope, bool partial);
  /// For a tile distributed over instances: the nodes for each part.
  Result<Nodes> per_instance(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                             const std::function<Result<Nodes>(const TileLayout* part)>& make);
  Result<Nodes> move_output(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope, bool into_inner,
                            InstructionId combine = {});
  /// The copy, for each part of a tile that is distributed over instances.
  Result<Nodes> transfer_parts(Copy copy, const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope);
  /// Not if fused consumers take all results, here or at a stage inside.
  bool is_drained(const Stage& s, std::size_t at) const;
  // Two places with partial sums of one element would overwrite each other when stored: if several points of the tile
  // write one element, the tile's coordinates must be the output's indices (p + r), not the dims.
  Diagnostics shared_element(const Stage& s, const TileLayout& tile, const Scope& scope) const;
  Result<Nodes> stage_output(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope, Scope inner);
  bool is_reduced_past_end(const Coordinate& c) const;
  Diagnostics elements_between(const Stage& s, const TileLayout& tile, const Scope& scope) const;
  /// Fills the existing buffer of stage `line` with the tile at `scope`.
  Result<Nodes> refill(std::size_t line, const Scope& scope);

  bool starts_in_memory_ = false;          ///< no instruction clears a tile of the output that starts at first visit
  std::set<std::size_t> pipelined_lines_;  ///< stages whose fills a pipelined loop places
  std::map<std::size_t, BufferId> buffer_of_line_;
  /// Stages in rotating registers: the buffer of each set, made at its first use.
  std::map<std::size_t, std::vector<BufferId>> registers_of_line_;
  std::map<std::size_t, std::size_t> register_set_;  ///< the current one
};

/// Appends nodes.
inline void append(Nodes& to, Nodes from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace isamap
