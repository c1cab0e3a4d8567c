// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of activations that go through memory between the parts of a model.

#include <cstdint>
#include <vector>

#include "frontends/model.h"
#include "isamap/kernel.h"
#include "planner/plan.h"

namespace isamap {

/// What parts read and write of tensors that are not constant and not theirs alone: every tensor once for each part
/// that touches it. A tensor that only one part touches, inputs and outputs of the model excepted, stays inside.
std::int64_t activation_bytes(const Kernel& kernel, const std::vector<Part>& parts);

/// The parts of a plan, those that run in bands as one: what is between them does not go through memory.
std::vector<Part> bands_as_parts(const ModelPlan& plan);

/// By part of the plan: its number in `bands_as_parts`.
std::vector<std::size_t> part_numbers(const ModelPlan& plan);

/// The statements of each operator of the model a part.
std::vector<Part> operators_of(const Model& model);

/// Each statement a part.
std::vector<Part> apart(const Kernel& kernel);

}  // namespace isamap
