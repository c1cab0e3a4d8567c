// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fewer launches of a model on machines with thread blocks: neighbouring parts become one where its nests are stitched
// into fewer launches than both have (backends/cuda/stitch_nests.h). The cost model of parts counts a
// launch for each nest, not those of the stitched program, so this is done behind the search of the plan.

#include "driver/plan/part_store.h"
#include "frontends/model.h"
#include "planner/plan.h"

namespace isamap {

/// The plan with the orders that it has, or with those of the file where the price of its parts and of the launches
/// that remain is less. `model` is stored as in the file.
ModelPlan with_orders_for_launches(const Model& model, ModelPlan plan, PartStore& store);

/// `model` is stored in the orders of the plan. Parts with instructions stay as they are; joined ones are in the store.
ModelPlan fuse_launches(const Model& model, ModelPlan plan, PartStore& store);

}  // namespace isamap
