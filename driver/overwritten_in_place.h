// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors between the parts of a model that need no memory of their own.

#include <map>
#include <vector>

#include "driver/compile_model.h"

namespace isamap {

/// T for each tensor E in whose storage the part that reads E last writes T (planner/in_place.h): by plan and bands it
/// may, and all programs of that part read what they overwrite before. `programs`: those of `compiled`. Nothing on
/// machines whose programs are not C++: there transfers may overlap.
std::map<TensorId, TensorId> overwritten_in_place(const Kernel& kernel, const CompiledModel& compiled,
                                                  const std::vector<Program>& programs, const HardwareModel& machine);

}  // namespace isamap
