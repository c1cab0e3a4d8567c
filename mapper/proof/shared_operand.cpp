// SPDX-License-Identifier: Apache-2.0
#include "mapper/proof/shared_operand.h"

#include "mapper/proof/counterexample_search.h"

namespace isamap {

std::vector<std::pair<int, int>> shared_operands(const Alignment& alignment) {
  std::vector<std::pair<int, int>> pairs;
  for (int t = 0; t < alignment.operand_count(); ++t)
    for (int u = t + 1; u < alignment.operand_count(); ++u) {
      const bool one = alignment.instruction_access(t).tensor == alignment.instruction_access(u).tensor;
      if (one && !(alignment.instruction_access(t) == alignment.instruction_access(u) &&
                   alignment.access(t) == alignment.access(u)))
        pairs.emplace_back(t, u);
    }
  return pairs;
}

Truth shared_operands_agree(const Alignment& alignment, const std::vector<DigitStep>& digit_steps) {
  if (shared_operands(alignment).empty()) return Truth::yes;
  return slot_holds_two(alignment, digit_steps, ~OperandSet{0}) ? Truth::no : Truth::unknown;
}

}  // namespace isamap
