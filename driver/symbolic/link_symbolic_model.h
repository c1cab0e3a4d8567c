// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slots, weights and calls of a model for all sizes.

#include "driver/symbolic/recurrent_parts.h"
#include "driver/symbolic/symbolic_bands.h"
#include "driver/symbolic/symbolic_model.h"

namespace isamap {

/// What is linked, all in the orders of the plan.
struct SymbolicLinking {
  const Model& sample;                                         ///< at the likely sizes
  const std::vector<std::vector<AffineExpr>>& shapes;          ///< by tensor
  const std::vector<TensorData>& constants;                    ///< by tensor
  const std::vector<SymbolicKernel>& kernels;                  ///< by part
  const std::vector<std::optional<RecurrentPart>>& recurrent;  ///< by part
  const std::vector<SymbolicBandParts>& bands;                 ///< by group of the plan
};

/// Fills `made.program` but for its programs. Errors: a pack entry that fails.
Diagnostics link_symbolic_model(const SymbolicLinking& with, const HardwareModel& machine,
                                CompiledSymbolicModelParts& made);

/// The tensors that a part's kernel is observed by: its outputs, in order.
std::vector<TensorId> traced_tensors(const Kernel& part);
/// All statements of a group of parts, ascending.
std::vector<std::size_t> statements_of(const CompiledSymbolicModelParts& compiled, const SymbolicBands& bands);

}  // namespace isamap
