// SPDX-License-Identifier: Apache-2.0
#pragma once
// A nest with the results of the closed form, from which other cost models start.

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
  std::vector<Bound> parts;  ///< terms whose sum is cost.cycles; only for machines that issue moves
};

/// Diagnostics as of CostModel::estimate.
Result<std::unique_ptr<PricedNest>> price_nest(const Candidate& candidate);

}  // namespace isamap
