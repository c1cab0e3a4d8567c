// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resources that tiles and calls of a nest occupy: input of the latency formula (scheduler/cost/latency.h) and of the
// event simulation (scheduler/cost/event_simulation.h), which differ only in how they schedule them (docs/cost.md).

#include <string>
#include <vector>

#include "scheduler/cost/loop_position.h"
#include "scheduler/cost/traffic.h"

namespace isamap {

/// Serves one request at a time: a port of a memory or of a unit, a link, a scalar unit.
struct Resource {
  std::string name;      ///< "DRAM read port", "link to_l2", "port load"
  SourceLocation where;  ///< the line with its figure
  std::string port;      ///< the port of a unit that it is; empty: it is none
};

/// Cycles that one element of a transfer occupies a resource.
struct Occupation {
  int resource = 0;
  double shared = 0;  ///< for each element at the parents: multicast counted once
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
  int place = 0;    ///< only loops above this one renew its tile
  int buffers = 1;  ///< registers are renamed: they count as double-buffered
  bool slide = false;
  bool moves = true;  ///< false: packed ahead of time
  Way in, out;
  std::string name;  ///< "A in GLB"
};

struct CallFlow {
  double each = 1;               ///< cycles between calls of one instance
  double latency = 1;            ///< until the result can be updated again
  double chains = 0;             ///< calls in flight with out-of-order execution; 0: in program order
  std::vector<Occupation> uses;  ///< `own`: cycles for each call
  std::string name;              ///< "mac"
  SourceLocation where;          ///< of its timing
};

struct NestFlow {
  std::vector<Resource> resources;
  std::vector<TileFlow> flows;  ///< parents before children
  CallFlow call;
  int block = 0;      ///< loops from this one on renew no tile
  double scalar = 0;  ///< cycles of scalar copies, which occupy the scalar unit
};

NestFlow flow_of(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic);

/// A run of calls without a tile renewal: the loops from `flow.block` on, with these extents of the dims, in the first
/// instance.
struct CallBlock {
  double calls = 0, cycles = 0;
};
CallBlock block_of(const NestFlow& flow, const LoopTable& table, const std::vector<std::int64_t>& extents);

}  // namespace isamap
