// SPDX-License-Identifier: Apache-2.0
#pragma once
// Software pipelining: tiles are prefetched some steps of a loop before their use, into a circular buffer in a
// scratchpad by asynchronous moves, or into rotating sets of registers in an unrolled loop.

#include "scheduler/lowering/lower_stage.h"

namespace isamap {

/// Steps of a loop over tiles of a dim.
struct StepCounts {
  std::int64_t full = 0, tile = 1, tail = 0;  ///< whole tiles, their size, and that of the tail
  std::int64_t steps() const { return full + (tail > 0 ? 1 : 0); }
};

class PipelineLowering : public StageLowering {
 public:
  using StageLowering::StageLowering;

 protected:
  /// The scope below a loop at this step, whose tile has this size.
  using TileAt = std::function<Scope(const AffineExpr& number, std::int64_t size)>;

  /// The lines of the stages right below a sequential loop whose tiles are prefetched.
  std::vector<std::size_t> pipelined_stages(const For& f, std::size_t which, std::size_t at) const;
  /// While step n computes, the tiles of step n + ahead are loaded. There are ahead + 1 buffers, so the one to be
  /// filled was last read in step n - 1: a barrier, or a counter with warp specialization, ensures that all have
  /// finished it.
  Result<Nodes> pipelined(const std::vector<std::size_t>& stage_lines, std::size_t at, std::int64_t steps,
                          const std::string& dim, const AffineExpr& visit, const TileAt& tile_at);

  /// The same for registers, right below an unrolled loop: step n has register set n % buffers, the tail a set of its
  /// own size.
  std::vector<std::size_t> prefetched_register_stages(const For& f, std::size_t which, std::size_t at) const;
  /// The registers of step n + ahead are loaded before step n computes, so that its calls hide the latency of the
  /// loads. No waits are needed: an instance reads only its own registers.
  Result<Nodes> prefetch_registers(const std::vector<std::size_t>& stage_lines, std::size_t at, const StepCounts& all,
                                   const TileAt& tile_at);

 private:
  struct PipelinedLoop;  ///< one loop of `pipelined`
  const Stage& stage_of(std::size_t line) const { return std::get<Stage>(input_.nest->lines[line].is); }
  /// The loads of the tiles of one step.
  Result<Nodes> fills(PipelinedLoop& pipeline, const AffineExpr& step);
  /// Waits until the tiles of step `number` can be read, with at most `pending` younger groups like `fill` incomplete.
  Nodes tile_ready(const PipelinedLoop& pipeline, const Nodes& fill, int pending, const AffineExpr& number) const;
  /// The part of a step before its body: the wait for its tiles, the loads for step n + ahead.
  Result<Nodes> steady_state(PipelinedLoop& pipeline, const std::string& variable);
  /// Does the machine have asynchronous moves, completed in groups or by counters?
  bool has_async_moves() const;
  /// Fences for tiles that are written through one view of the memory and read through another.
  Nodes fences(const std::vector<std::size_t>& stages) const;
  /// A barrier: all parts of the tile are loaded, and the buffer to be filled next is no longer read.
  Nodes barrier(const std::vector<std::size_t>& stage_lines) const;
  std::int64_t tile_size(std::size_t at, const std::string& dim) const;
};

}  // namespace isamap
