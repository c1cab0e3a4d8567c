// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emits and compiles a whole model for all sizes once, and executes it at sizes in child processes.

#include <memory>

#include "backends/model_runner.h"
#include "program/symbolic_model_program.h"

namespace isamap {

class SymbolicModelRunner {
 public:
  virtual ~SymbolicModelRunner() = default;
  /// `inputs`: by input, with the shapes of these sizes. `read` gets the results of each part, as of a ModelProgram.
  virtual Result<ModelOutcome> run(const Bindings& sizes, const std::vector<TensorData>& inputs, double min_seconds,
                                   const TraceReader& read) = 0;
  virtual int compilations() const = 0;
};

/// `model` and `machine` must outlive it.
std::unique_ptr<SymbolicModelRunner> make_symbolic_model_runner(const SymbolicModelProgram& model,
                                                                const HardwareModel& machine);

}  // namespace isamap
