// SPDX-License-Identifier: Apache-2.0
#include "ir/start.h"

#include <algorithm>

namespace isamap {

bool may_start(const Instruction& instruction, Start start) {
  if (instruction.semantics.empty()) return start == Start::keep;
  const std::string& output = instruction.tensors[instruction.statement().write.tensor.index()].name;
  for (const auto& [operand, choices] : instruction.start)
    if (operand == output) return std::find(choices.begin(), choices.end(), start) != choices.end();
  return start == Start::keep;
}

bool always_overwrites(const Instruction& instruction) {
  return !instruction.semantics.empty() && instruction.statement().reduction != Reduction::assign &&
         !may_start(instruction, Start::keep);
}

}  // namespace isamap
