// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model in the form that a target computes best: which statements are one, which are apart.

#include <optional>

#include "frontends/biases_first.h"
#include "frontends/integer_products.h"
#include "frontends/model.h"
#include "isamap/hardware.h"

namespace isamap {

/// By any of its instructions `C += s32(A) * s32(B)`. The machine must outlive the result.
MultipliesBytes bytes_multiplied_by(const HardwareModel& machine);

/// Element-wise statements that a tree of the target's instructions computes whole take in their producers, and
/// divisors that a row shares become reciprocals where that pays (not with `strict_float`). Where programs are command
/// streams, sums begin with their biases if accumulators can be filled (frontends/biases_first.h), and are scaled in
/// f32 where that is exact (frontends/exact_scales.h). New notes are at the end of the model's.
Model fitted_to(Model model, const HardwareModel& machine, const BiasOptions& options = {});

/// Floats that sums of products widen at each use are widened once where the prices of the machine say so
/// (frontends/widened_operands.h). Only where programs are C++ and the machine has two caches.
Model with_widened_operands(Model model, const HardwareModel& machine);

/// Why the model has no place in the machine's outermost memory, whatever its schedules are: its inputs, outputs and
/// weights are larger. Nothing: they fit, or the memory has no stated size.
std::optional<Diagnostic> exceeds_memory(const Model& model, const HardwareModel& machine);

}  // namespace isamap
