// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model that was compiled for all sizes, executed at some sizes and compared with the interpreter.

#include "backends/model_runner.h"
#include "driver/run_model.h"
#include "driver/symbolic/symbolic_model.h"

namespace isamap {

/// A model imported at some sizes, with the orders of the file.
struct ModelAtSizes {
  const Bindings& sizes;
  const Model& model;
  std::vector<TensorData> data;  ///< by tensor
};

/// The model is imported at these very sizes, so that what was lifted from samples is compared with an import of its
/// own: part by part where it has the statements of the samples, else (an axis of one element is left out) by the
/// outputs of the whole, within 0.1 %. Stops at the first part that is wrong.
ModelRun run_symbolic_model(const CompiledSymbolicModelParts& compiled, SymbolicModelRunner& runner,
                            const SampledModel& sampled, ModelAtSizes at, const ModelRunOptions& options);

}  // namespace isamap
