// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "scheduler/cost/command_stream_model.h"
#include "scheduler/cost/parallel_scalar_model.h"
#include "scheduler/cost/priced_nest.h"
#include "scheduler/cost/stream_simulation.h"

namespace isamap {

namespace {

class SimulatorModel final : public CostModel {
 public:
  Result<Cost> estimate(const Candidate& candidate) override {
    auto priced = price_nest(candidate);
    if (!priced) return priced.diagnostics();
    const PricedNest& nest = **priced;
    if (runs_in_waves(nest.view)) return nest.cost;  // waves of thread blocks are not simulated
    const NestFlow flow = flow_of(nest.view, nest.counts, nest.traffic);
    const auto simulated = simulate(nest.view, nest.counts, nest.traffic, flow);
    if (!simulated) return simulated.diagnostics();
    Cost cost = nest.cost;
    // packing does not overlap with a command stream
    const double copies = is_stream(nest.view) ? cost.scalar_cycles : 0;
    cost.cycles = std::ceil(simulated->cycles + copies - 1e-9);
    Traffic counted;
    counted.memories = simulated->memories;
    cost.memories = in_words(counted, nest.view);
    cost.bound = "compute";
    double most = simulated->compute;
    for (std::size_t f = 0; f < flow.flows.size(); ++f)
      if (simulated->waited[f] > most) {
        most = simulated->waited[f];
        cost.bound = "waiting for " + flow.flows[f].name;
      }
    return cost;
  }
};

}  // namespace

std::unique_ptr<CostModel> make_cost_model_simulator() { return std::make_unique<SimulatorModel>(); }

}  // namespace isamap
