// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles that are asked for some steps of a loop before they are used: rings of places in a scratchpad, whose moves run
// beside the calls, and sets of registers that take turns along a loop which is printed step by step.

#include "scheduler/lowering/lower_stage.h"

namespace isamap {

class PipelineLowering : public StageLowering {
 public:
  using StageLowering::StageLowering;

 protected:
  /// What is known below a loop at this step, whose tile has this size.
  using TileAt = std::function<Scope(const AffineExpr& number, std::int64_t size)>;

  /// The stages right below a loop in time whose tiles are asked for some steps ahead, by line.
  std::vector<std::size_t> pipelined_stages(const For& f, std::size_t which, std::size_t at) const;
  /// The tiles of step n + ahead are asked for while those of step n are used. A tile's place is free again when all
  /// are through with the step before: there is one more of them than steps ahead. That all are is known from a
  /// barrier, or from a counter, where those who fill do nothing else.
  Result<Nodes> pipelined(const std::vector<std::size_t>& stage_lines, std::size_t at, std::int64_t steps,
                          const std::string& dim, const AffineExpr& visit, const TileAt& tile_at);

  /// The same in registers, right below an unrolled loop: each step has the set of registers whose turn it is.
  std::vector<std::size_t> prefetched_register_stages(const For& f, std::size_t which, std::size_t at) const;
  /// Step by step: the registers of step n + ahead are filled before the lines below use those of step n, so that the
  /// calls of one step hide the latency of fetching the next. Nothing has to be waited for: an instance reads what it
  /// has fetched itself.
  Result<Nodes> prefetch_registers(const std::vector<std::size_t>& stage_lines, std::size_t at, std::int64_t steps,
                                   std::int64_t tile, const TileAt& tile_at);

 private:
  /// Do moves complete in groups or by counters, behind the program's back?
  bool has_async_moves() const;
  /// The fences of those tiles that the instruction reads by another path than the one by which they were written.
  Nodes fences(const std::vector<std::size_t>& stages) const;
  /// All have waited for their part of the tile, and are through with the one whose place is filled next.
  Nodes barrier(const std::vector<std::size_t>& stage_lines) const;
  std::int64_t tile_size(std::size_t at, const std::string& dim) const;
};

}  // namespace isamap
