// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tiles and calls of a nest occupy on the machine: read by the latency formula (scheduler/cost/latency.h) and
// by the event simulator (scheduler/cost/event_simulation.h), which differ only in how they put it into time
// (docs/cost.md).

#include <string>
#include <vector>

#include "scheduler/cost/loop_position.h"
#include "scheduler/cost/traffic.h"

namespace isamap {

/// Serves one request at a time: a port of a memory or of a unit, a link, a scalar unit.
struct Resource {
  std::string name;      ///< "DRAM read port", "link to_l2", "port load"
  SourceLocation where;  ///< the line with its figure
};

/// Cycles that one element of a transfer occupies a resource.
struct Occupation {
  int resource = 0;
  double shared = 0;  ///< for each element as the parents see it, over all of them: multicast counted once
  double own = 0;     ///< for each element of one instance filled
};

/// One direction of a stage.
struct Way {
  std::vector<Occupation> uses;
  double latency = 0;  ///< cycles, after the last use; of links, moves, barriers
  std::vector<SourceLocation> latency_where;
};

/// A stage whose tiles are filled from their parent (`in`) and, of an output, drained to it (`out`).
struct TileFlow {
  int stage = 0, access = 0;
  int parent = -1;  ///< flow; -1: the tensor at home
  int loops = 0;    ///< loops above the stage
  int place = 0;    ///< its tile is renewed by loops above this one only
  int buffers = 1;  ///< registers are renamed: they count as two
  bool slide = false;
  bool moves = true;  ///< false: it stands ready before the program begins
  Way in, out;
  std::string name;  ///< "A in GLB"
};

struct CallFlow {
  double each = 1;     ///< cycles between calls of one instance
  double latency = 1;  ///< until the result may be updated again
  double chains = 0;   ///< calls that are under way at once, where the machine finds them itself; 0: as the loops come
  std::vector<Occupation> uses;  ///< `own`: cycles for each call
  std::string name;              ///< "mac"
  SourceLocation where;          ///< of its timing
};

struct NestFlow {
  std::vector<Resource> resources;
  std::vector<TileFlow> flows;  ///< parents before children
  CallFlow call;
  int block = 0;      ///< loops from this one on renew nothing
  double scalar = 0;  ///< cycles of copies element by element, of those that transfers take
};

NestFlow flow_of(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);

/// A run of calls between which no tile is renewed: those of the loops from `flow.block` on, the dims having these
/// extents there, in the first instance.
struct CallBlock {
  double calls = 0, cycles = 0;
};
CallBlock block_of(const NestFlow& flow, const LoopTable& table, const std::vector<std::int64_t>& extents);

}  // namespace isamap
