// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes the commands of a nest on a machine that executes one stream of them: what --cost simulator and --trace take
// the time of an accelerator from. The rules stand in docs/cost.md, "Simulation of a stream".
//
// The commands are those that lowering makes, in its order, without their addresses: a move for each use that a tile
// takes (scheduler/cost/tile_uses.h), a call at each step of the innermost loop. They leave as the list scheduler of
// backends/assembly/command_order.h lets them: of the next `window` those are ready whose predecessors have left, and
// the one that can start first leaves next. A command comes after those that touched the same part of a tile before,
// where one of the two writes. Under `order: tokens` each port is a queue, which keeps its own order.

#include "scheduler/cost/event_simulation.h"

namespace isamap {

/// `traffic` gives what does not depend on time: all counts, which are the closed form's.
Result<SimulatedNest> simulate_stream(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                                      const NestFlow& flow, const SimulationOptions& options = {});

/// The simulation that fits the machine: this one, or that of tiles (simulate_nest).
Result<SimulatedNest> simulate(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                               const NestFlow& flow, const SimulationOptions& options = {});

}  // namespace isamap
