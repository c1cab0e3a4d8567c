#pragma once
// Cycles of a nest on a machine that executes one stream of commands: what is printed as assembly for an accelerator.
//
// A tile with one buffer is filled, used and drained in turn; one with more is moved while the calls use another, all
// but the first of each round of the tiles around it. Of the moves that make a tile, calls wait for the first: the
// others run beside them, each on its port.
//   cycles = the longest of calls x max(interval, latency / independent calls in a row), of the ports of moves beside
//            them, and of half of all that with the latencies between: a tile is moved and used within the time of two
//          + for each stage: refills that are waited for x interval of the move
//          + for each place of the nest with stages: refills that are waited for x the longest latency of their moves,
//            and of the calls inside; fills of two places that begin together wait once for the shorter of their
//            latencies, unless the inner tile is part of the outer one.
// A move's uses for a tile: scheduler/stream_time.cpp, uses_of_tile.

#include "scheduler/traffic.h"

namespace isamap {

/// Does the machine execute a stream of commands that have times?
bool executes_a_stream(const HardwareModel& model);

/// What one command is asked to cover: where a dim cannot be as short as what it uses, all of it.
std::vector<std::int64_t> padded_call_extents(const NestView& view);

/// The uses of a move that one full tile of a stage takes.
struct TileMove {
  double uses = 0;
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
