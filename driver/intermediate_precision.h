// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which intermediates of a model in f16 or bf16 are kept in f32: a conversion less on both sides of each, and twice
// its bytes.

#include "driver/plan/part_store.h"
#include "driver/plan/plan_model.h"
#include "frontends/model.h"

namespace isamap {

/// `with_widened_operands` of the model with its intermediates as they are, with all of them in f32
/// (frontends/f32_intermediates.h), or with those of which two fit the second cache: whichever has the cheapest chains.
/// Only where programs are C++ and the machine has two caches. A note says how many are in f32.
Model cheapest_intermediates(const Model& model, PartStore& store, PlanOptions plan);

}  // namespace isamap
