// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/latency.h"

#include "scheduler/cost/priced_nest.h"

namespace isamap {

namespace {

class LatencyModel final : public CostModel {
 public:
  Result<Cost> estimate(const Candidate& candidate) override {
    auto priced = price_nest(candidate);
    if (!priced) return priced.diagnostics();
    const PricedNest& nest = **priced;
    if (runs_in_waves(nest) || nest.timing == TimingModel::command_stream)
      return nest.cost;  // their terms include exposed latency
    const Latency latency = latency_of_nest(nest.view, nest.counts, flow_of(nest.view, nest.counts, nest.traffic));
    return replayed_cost(nest, latency.cycles, latency.bound);
  }

  std::optional<Cost> refine(const Candidate& candidate, const Cost&) override { return refined_cost(candidate); }
};

}  // namespace

std::unique_ptr<CostModel> make_cost_model_latency() { return std::make_unique<LatencyModel>(); }

}  // namespace isamap
