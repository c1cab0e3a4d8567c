// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command streams: cycles of a nest printed as assembly for an accelerator.
//
// Commands issue by a list scheduler with a window (backends/assembly/command_order.h). At the boundary of two rounds
// of a place of the nest calls stall until the tiles renewed there are filled, except for fills and drains that the
// window lets overlap with the round before. Formula: docs/cost.md, "A stream of commands"; uses of a move for a tile:
// scheduler/cost/tile_uses.h.

#include "scheduler/cost/term.h"
#include "scheduler/cost/tile_uses.h"

namespace isamap {

/// Is the nest executed as such a stream (not scalar code)?
bool is_stream(const ResolvedNest& view);

/// Extents of one command, padded to the full range where a dim cannot be that short.
std::vector<std::int64_t> padded_call_extents(const ResolvedNest& view);

/// Uses of a move for one full tile of a stage.
TileMove tile_move(const ResolvedNest& view, int stage, const Instruction& move);

struct StreamTime {
  TermTime bound;      ///< all cycles, named by the largest part: "compute", "port load", "latencies"
  double first = 0;    ///< of these: before the first call
  double compute = 0;  ///< calls at work
  double last = 0;     ///< after the last call
};
StreamTime stream_time(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);

}  // namespace isamap
