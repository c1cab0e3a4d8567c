// SPDX-License-Identifier: Apache-2.0
#pragma once
// A nest with everything the closed form says of it: what other cost models begin with.

#include <memory>

#include "scheduler/cost/time_bounds.h"

namespace isamap {

struct PricedNest {
  explicit PricedNest(ResolvedNest resolved) : view(std::move(resolved)), counts(view) {}
  PricedNest(const PricedNest&) = delete;
  PricedNest& operator=(const PricedNest&) = delete;

  const ResolvedNest view;
  const TileCounts counts;
  Traffic traffic;
  Cost cost;
  std::vector<Bound> parts;  ///< of cost.cycles, whose sum they are; of programs whose moves are instructions only
};

/// Diagnostics as of CostModel::estimate.
Result<std::unique_ptr<PricedNest>> price_nest(const Candidate& candidate);

}  // namespace isamap
