// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions with equal semantics that need different state: "multiply with the new weights", "with the previous
// ones".

#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// The instruction itself first.
inline std::vector<const Instruction*> twins_of(const Instruction& instruction, const HardwareModel& model) {
  std::vector<const Instruction*> twins{&instruction};
  if (instruction.needs.empty()) return twins;
  const auto same = [&](const Instruction& b) {
    const Instruction& a = instruction;
    return a.unit == b.unit && a.link == b.link && a.tensors == b.tensors && a.semantics == b.semantics &&
           a.operands == b.operands && a.ranges == b.ranges && a.masks == b.masks && a.inactive == b.inactive &&
           a.start == b.start && a.timing.port == b.timing.port && a.numerics == b.numerics &&
           a.async_by == b.async_by && a.of_function == b.of_function;
  };
  for (const Instruction& other : model.instructions())
    if (&other != &instruction && same(other)) twins.push_back(&other);
  return twins;
}

}  // namespace isamap
