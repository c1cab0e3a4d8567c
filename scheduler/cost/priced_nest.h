// SPDX-License-Identifier: Apache-2.0
#pragma once
// A nest with the results of the closed form, from which other cost models start.

#include <memory>
#include <optional>

#include "isamap/cost_model.h"
#include "scheduler/cost/term.h"

namespace isamap {

struct PricedNest {
  explicit PricedNest(ResolvedNest resolved) : view(std::move(resolved)), counts(view) {}
  PricedNest(const PricedNest&) = delete;
  PricedNest& operator=(const PricedNest&) = delete;

  const ResolvedNest view;
  const TileCounts counts;
  TimingModel timing = TimingModel::overlapped;
  Traffic traffic;
  std::optional<BlockWork> blocks;
  std::optional<ScalarWork> scalar;
  TermSum terms;  ///< of `cost.cycles`, before rounding up
  Cost cost;
};

/// Diagnostics as of CostModel::estimate.
Result<std::unique_ptr<PricedNest>> price_nest(const Candidate& candidate);

/// Does the nest run in waves of thread blocks? Their terms include exposed latency; finer models add nothing.
bool runs_in_waves(const PricedNest& nest);

/// The cost of a nest whose tiles and calls a finer model has replayed: in so many cycles, most of them for `bound`.
/// The terms that it does not replay are added, and it never knows less than the closed form:
///
///   max(replayed, longest bound + terms that are replayed) + all other terms
Cost replayed_cost(const PricedNest& nest, double cycles, const Bottleneck& bottleneck);

/// The cost of a nest of a command stream whose commands are replayed; nothing: it is none, or has too many.
std::optional<Cost> refined_cost(const Candidate& candidate);

}  // namespace isamap
