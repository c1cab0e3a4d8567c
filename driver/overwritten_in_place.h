// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors between the parts of a model that need no memory of their own.

#include <map>
#include <set>
#include <vector>

#include "driver/compile_model.h"

namespace isamap {

/// T for each tensor E in whose storage the part that reads E last writes T (planner/in_place.h): by plan and bands it
/// may, and all programs of that part read what they overwrite before. `programs`: those of `compiled`. Nothing on
/// machines whose programs are not C++: there transfers may overlap.
std::map<TensorId, TensorId> overwritten_in_place(const Kernel& kernel, const CompiledModel& compiled,
                                                  const std::vector<Program>& programs, const HardwareModel& machine);

/// A program reads `id` last and writes `by`, which lies in the storage of `id` if the program reads it before.
struct Overwriting {
  TensorId id, by;
  std::size_t program = 0;
  const Kernel* part;  ///< what the program computes; of `compiled`
};
/// By plan and bands, before the programs are known; nothing on machines whose programs are not C++.
std::vector<Overwriting> all_overwriting(const Kernel& kernel, const CompiledModel& compiled,
                                         const HardwareModel& machine);

/// Arguments of program `number` that may have the storage of another one, before all programs are known: more than in
/// the end where another program of its part does not read before.
std::set<BufferId> overlapping_arguments(const Kernel& kernel, const std::vector<Overwriting>& overwriting,
                                         std::size_t number, const Program& program, const HardwareModel& machine);

}  // namespace isamap
