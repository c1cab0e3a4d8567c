// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "scheduler/dealt_time.h"
#include "scheduler/event_simulation.h"
#include "scheduler/priced_nest.h"

namespace isamap {

namespace {

class SimulatorModel final : public CostModel {
 public:
  Result<Cost> estimate(const Candidate& candidate) override {
    auto priced = price_nest(candidate);
    if (!priced) return priced.diagnostics();
    const PricedNest& nest = **priced;
    if (comes_in_rounds(nest.view)) return nest.cost;  // blocks that wait their turn are no nest of one processor
    const NestFlow flow = flow_of(nest.view, nest.counts, nest.traffic);
    const auto simulated = simulate_nest(nest.view, nest.counts, nest.traffic, flow);
    if (!simulated) return simulated.diagnostics();
    Cost cost = nest.cost;
    cost.cycles = std::ceil(simulated->cycles - 1e-9);
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
