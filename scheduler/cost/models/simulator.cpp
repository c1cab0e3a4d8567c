// SPDX-License-Identifier: Apache-2.0
#include <cmath>

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
    if (runs_in_waves(nest)) return nest.cost;  // waves of thread blocks are not simulated
    const NestFlow flow = flow_of(nest.view, nest.counts, nest.traffic);
    const auto simulated = simulate(nest.view, nest.counts, nest.traffic, flow);
    if (!simulated) return simulated.diagnostics();
    Bottleneck bound{"compute", true};
    double most = simulated->compute;
    for (std::size_t f = 0; f < flow.flows.size(); ++f)
      if (simulated->waited[f] > most) {
        most = simulated->waited[f];
        bound = {"waiting for " + flow.flows[f].name};
      }
    Cost cost = replayed_cost(nest, simulated->cycles, bound);
    if (nest.timing == TimingModel::command_stream) {  // its rounds are means, which the simulation replaces
      cost.cycles = std::ceil(simulated->cycles + nest.cost.scalar_cycles - 1e-9) + 0.0;  // -0 becomes 0
      cost.bound = bound.name;
      cost.bound_by_calls = bound.calls;
    }
    Traffic counted;
    counted.memories = simulated->memories;
    cost.memories = in_words(counted, nest.view);
    return cost;
  }
};

}  // namespace

std::unique_ptr<CostModel> make_cost_model_simulator() { return std::make_unique<SimulatorModel>(); }

}  // namespace isamap
