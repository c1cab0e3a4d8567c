#pragma once
// Cycles of a nest on a machine that executes one stream of commands: what is printed as assembly for an accelerator.
//
// Tiles have one buffer, so a tile is filled, used and drained in turn:
//   cycles = calls x max(interval, latency / independent calls in a row)
//          + for each stage: refills x (uses of the move x interval)
//          + for each place of the nest with stages: refills x the longest latency of their moves, and of the calls
//          inside.
// Commands of different ports overlap only where a tile has several pieces; that is left out.

#include "scheduler/traffic.h"

namespace isamap {

/// Does the machine execute a stream of commands that have times?
bool executes_a_stream(const HardwareModel& model);

/// What one command is asked to cover: where a dim cannot be as short as what it uses, all of it.
std::vector<std::int64_t> padded_call_extents(const NestView& view);

/// The uses of a move that one full tile of a stage takes.
struct TileMove {
  double cycles = 0;   ///< of its port
  double latency = 0;  ///< of the last use
};
TileMove tile_move(const NestView& view, int stage, const Instruction& move);

struct StreamTime {
  double cycles = 0;
  std::string bound;  ///< the largest part: "compute", "port load", "latencies"
};
StreamTime stream_time(const NestView& view, const TileCounts& counts, const Traffic& traffic);

}  // namespace isamap
