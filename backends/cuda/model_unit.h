// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model as one file of CUDA C++: the kernels of all parts, and the C interface of emitted models around them.
// Everything is in one block of device memory: tensors between parts, local buffers of parts, and a place for each
// input and output, which are copied from and to the caller's memory.

#include "backends/cpp/model/model_unit.h"

namespace isamap {

/// Memory for the local buffers of a part while it runs.
Result<Workspace> device_workspace_of(const Program& part, const HardwareModel& machine);

/// Kernels that a call of it launches; nothing: it has no text.
std::optional<std::int64_t> device_launches_of(const Program& part, const HardwareModel& machine);

/// Errors: what a part's printer refuses, and bands.
Result<ModelUnit> print_device_model(const ModelProgram& model, const HardwareModel& machine);

/// Where an input or output is during a run: behind the arena of the parts. Other places are what they are.
ModelPlace in_device_memory(const ModelProgram& model, ModelPlace place);

}  // namespace isamap
