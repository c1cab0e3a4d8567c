// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/latency.h"

#include <cmath>

#include "scheduler/cost/command_stream_model.h"
#include "scheduler/cost/parallel_scalar_model.h"
#include "scheduler/cost/priced_nest.h"

namespace isamap {

namespace {

class LatencyModel final : public CostModel {
 public:
  Result<Cost> estimate(const Candidate& candidate) override {
    auto priced = price_nest(candidate);
    if (!priced) return priced.diagnostics();
    const PricedNest& nest = **priced;
    if (runs_in_waves(nest.view) || is_stream(nest.view)) return nest.cost;  // these models include exposed latency
    const Latency latency = latency_of_nest(nest.view, nest.counts, flow_of(nest.view, nest.counts, nest.traffic));
    Cost cost = nest.cost;
    cost.cycles = std::ceil(latency.cycles - 1e-9);
    cost.bound = latency.bound;
    return cost;
  }
};

}  // namespace

std::unique_ptr<CostModel> make_cost_model_latency() { return std::make_unique<LatencyModel>(); }

}  // namespace isamap
