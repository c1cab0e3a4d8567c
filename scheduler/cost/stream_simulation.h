// SPDX-License-Identifier: Apache-2.0
#pragma once
// Event simulation of a command stream: time of an accelerator for --cost simulator and --trace. Rules: docs/cost.md,
// "Simulation of a stream".
//
// The commands are those of lowering, in program order, without addresses: a move for each use of a tile
// (scheduler/cost/tile_uses.h), a call at each step of the innermost loop. They issue by the list scheduler of
// backends/assembly/command_order.h: of the next `window` commands those whose predecessors have issued are ready, and
// the one with the earliest start issues next. A command depends on earlier ones on the same part of a tile if one of
// the two writes. Under `order: tokens` each port is an in-order queue.

#include "scheduler/cost/event_simulation.h"

namespace isamap {

/// `traffic` gives all access counts: those of the closed form.
Result<SimulatedNest> simulate_stream(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                                      const NestFlow& flow, const SimulationOptions& options = {});

/// The times of the commands of a nest, simulated but for repetitions. Nothing: there are too many without these.
std::optional<SimulatedNest> replayed_stream(const ResolvedNest& view, const TileCounts& counts,
                                             const Traffic& traffic);

/// simulate_stream for machines of command streams, else simulate_nest.
Result<SimulatedNest> simulate(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                               const NestFlow& flow, const SimulationOptions& options = {});

}  // namespace isamap
