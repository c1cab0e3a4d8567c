// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emits, compiles and executes a whole model in a child process, and reads back what every part wrote.

#include <functional>
#include <vector>

#include "backends/cpp/model_unit.h"
#include "isamap/interpret.h"

namespace isamap {

struct ModelOutcome {
  ExecutionMode executed = ExecutionMode::unavailable;
  std::string compiler;              ///< the command
  double seconds = 0;                ///< median of one run of the whole
  std::vector<double> part_seconds;  ///< mean, by part
  double compiling = 0;              ///< seconds
  std::int64_t text_bytes = 0, arena_bytes = 0;
  std::string missing, limit, environment;  ///< as in RunOutcome
};

/// Takes what a part wrote, in the order of `traced`; false: no more are wanted.
using TraceReader = std::function<bool(std::size_t part, const std::vector<std::vector<std::uint8_t>>& arrays)>;

/// `inputs`: by input of the model.
Result<ModelOutcome> run_model_program(const ModelProgram& model, const HardwareModel& machine,
                                       const std::vector<TensorData>& inputs,
                                       const std::vector<std::vector<TracedArray>>& traced, double min_seconds,
                                       const TraceReader& read);

/// Can whole models be printed for this machine? Otherwise they are executed part by part.
bool prints_models(const HardwareModel& machine);

}  // namespace isamap
