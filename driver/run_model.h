// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model on a machine: its kernel in parts, each compiled like any kernel, equal ones once, executed one after
// another on the model's data and compared with the interpreter part by part.

#include <functional>
#include <string>
#include <vector>

#include "frontends/model.h"
#include "isamap/compile.h"
#include "isamap/interpret.h"

namespace isamap {

/// Consecutive statements that are compiled together.
struct ModelPart {
  std::size_t first = 0, count = 0;
};

/// A part is a statement and the element-wise ones that follow it, each reading what the one before it wrote, at most
/// 12 of them; they are fused where the schedule does. A model with steps in time is one part.
std::vector<ModelPart> parts_of(const Kernel& kernel);

struct PartRun {
  std::string name;                ///< of its first node: "conv_3"
  std::vector<std::string> nodes;  ///< of the file
  std::size_t statements = 0, mapped = 0;
  std::size_t same_as = 0;  ///< position of the first part with this program; its own: compiled for it
  double predicted_cycles = 0;
  double seconds = 0;  ///< median, alone; 0: not timed
  std::int64_t cycles = 0;
  double max_error = 0;
};

struct ModelRunOptions {
  CompileOptions compile;
  double min_seconds = 0;  ///< each part is repeated for so long; 0: once
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct ModelRun {
  ExecutionMode executed = ExecutionMode::unavailable;
  std::vector<PartRun> parts;
  std::size_t distinct = 0;      ///< programs compiled
  std::vector<TensorData> data;  ///< by tensor of the kernel
  double seconds = 0;            ///< of all parts together; 0: not timed
  std::int64_t cycles = 0;
  double predicted_cycles = 0, max_error = 0;
  double seconds_searching = 0, seconds_running = 0;  ///< running: with the compiler, the interpreter and timing
  Exit code = Exit::ok;
  Diagnostics problems;  ///< a part without a program, one that is wrong, or one that did not run, by its name
};

/// `data`: one for each tensor (data_of). Stops at the first part that fails.
ModelRun run_model(const Model& model, const HardwareModel& machine, std::vector<TensorData> data,
                   const ModelRunOptions& options);

}  // namespace isamap
