// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where to add biases on machines of command streams: in front of their sums, in the accumulator, or behind them.
// Which one is cheaper is known when both have a schedule: an accumulator that no schedule fills from the bias leaves a
// copy of it to the host, over the whole result, and one that is filled by slow moves may take longer than a consumer
// that the host executes in any case.

#include "driver/fit_model.h"
#include "driver/plan/part_store.h"
#include "driver/plan/plan_model.h"

namespace isamap {

/// `fitted_to`, with every bias in front of its sum or behind it, by the prices of the chains that `plan_model` makes
/// with each; never a model whose plan is dearer than the one with all biases in front, or with all of them behind.
Model place_biases(const Model& model, PartStore& store, const PlanOptions& plan, bool strict_float);

}  // namespace isamap
