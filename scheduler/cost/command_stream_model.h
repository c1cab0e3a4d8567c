// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles of a nest on a machine that executes one stream of commands: what is printed as assembly for an accelerator.
//
// Commands leave in the order of a list scheduler with a window of so many commands
// (backends/assembly/command_order.h). Between two rounds of a place of the nest calls wait until the tiles that are
// renewed there are filled, as far as the window does not let fills and drains run beside the calls of the round
// before. The formula stands in docs/cost.md, "A stream of commands"; a move's uses for a tile in
// scheduler/cost/tile_uses.h.

#include "scheduler/cost/tile_uses.h"
#include "scheduler/cost/traffic.h"

namespace isamap {

/// Does the machine execute a stream of commands that have times?
bool executes_a_stream(const HardwareModel& model);
/// Is the nest one of commands of such a stream, and no scalar code?
bool is_stream(const ResolvedNest& view);

/// What one command is asked to cover: where a dim cannot be as short as what it uses, all of it.
std::vector<std::int64_t> padded_call_extents(const ResolvedNest& view);

/// The uses of a move that one full tile of a stage takes.
TileMove tile_move(const ResolvedNest& view, int stage, const Instruction& move);

struct StreamTime {
  double cycles = 0;
  std::string bound;   ///< the largest part: "compute", "port load", "latencies"
  double first = 0;    ///< of these: before the first call
  double compute = 0;  ///< calls at work
  double last = 0;     ///< after the last call
};
StreamTime stream_time(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);

}  // namespace isamap
