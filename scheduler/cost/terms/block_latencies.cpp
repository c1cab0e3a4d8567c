// SPDX-License-Identifier: Apache-2.0
// Latencies of tiles in thread blocks.
//
//   latency of copies   waves x steps x latency of the links / n, of copies pipelined n stages ahead
//   latency of fetches  waves x (steps x latency of register loads + the calls of an instance); of registers loaded one
//                       step ahead the larger of the two. Concurrent loads overlap.

#include <algorithm>
#include <map>

#include "scheduler/cost/pipelining.h"
#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

void block_copy_latency_times(const TermContext& at, std::vector<TermTime>& times) {
  double most = 0;
  bool any = false;
  for (const BlockRefill& r : at.blocks->refills) {
    if (r.output || r.registers || !r.first_at_its_loop) continue;
    const Pipelining pipelined = pipelining_of(at, r);
    if (pipelined.ahead <= 0) continue;
    any = true;
    most = std::max(most, r.times * r.latency / pipelined.ahead);
  }
  if (any) times.push_back({"latency of copies", "", most * at.blocks->waves});
}

/// Instances inside the unit that contain instances themselves: each keeps a port busy with its share of a call.
double parallel_instances_inside(const HardwareModel& model, UnitId unit) {
  double count = 1;
  for (std::size_t u = 0; u < model.units().size(); ++u)
    if (const UnitId id = make_id<UnitId>(u); id != unit && model.inside(id, unit) && !is_innermost_unit(model, id))
      count *= static_cast<double>(model.unit(id).count);
  return count;
}

void block_fetch_times(const TermContext& at, std::vector<TermTime>& times) {
  const HardwareModel& model = *at.view.model;
  std::map<int, double> fetched, fetched_ahead;  // by loops above
  for (const BlockRefill& r : at.blocks->refills) {
    if (!r.registers || r.output) continue;
    double steps = 1;
    for (std::size_t w = 0; w < static_cast<std::size_t>(r.stage->loops); ++w)
      if (!at.view.loops[w].unit.valid()) steps *= static_cast<double>(at.counts.trip(static_cast<int>(w)));
    const double latency = r.move != nullptr && r.move->timing.latency ? full_latency(*r.move) : r.latency;
    double& waited = (r.stage->stage.ahead > 0 ? fetched_ahead : fetched)[r.stage->loops];
    waited = std::max(waited, steps * latency);
  }
  double cycles = 0;
  if (!fetched.empty() || !fetched_ahead.empty()) {
    const Instruction& instruction = *at.view.instruction;
    double at_once =
        at.blocks->calls_in_sequence * interval_of(instruction, at.view.call_extents(), model) /
        std::min(ports_of_processor(instruction, model), parallel_instances_inside(model, instruction.unit));
    double ahead = 0;
    for (const auto& [loops, waited] : fetched) at_once += waited;
    for (const auto& [loops, waited] : fetched_ahead) ahead += waited;
    cycles = std::max(at_once, ahead);
  }
  times.push_back({"latency of fetches", "", cycles * at.blocks->waves});
}

}  // namespace

namespace terms {

extern const Term block_copy_latency{"latency of copies",     "waves x steps x latency of the links / stages ahead",
                                     "links.*.latency",       "Little's law",
                                     Overlap::bound,          true,
                                     block_copy_latency_times};

extern const Term block_fetches{"latency of fetches",
                                "waves x (steps x latency of loads + calls in sequence); one step ahead: the larger",
                                "instructions.*.timing.latency, links.*.latency",
                                "definition of latency",
                                Overlap::bound,
                                true,
                                block_fetch_times};

}  // namespace terms
}  // namespace isamap
