// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/default_layout.h"

namespace isamap {

std::vector<LayoutDigit> default_layout(const Pairing& p, int access, MemoryId memory, const HardwareModel& model) {
  const Access& a = access_of(*p.statement, access);
  std::vector<LayoutDigit> layout;
  const int operand = p.operand_access[static_cast<std::size_t>(access)];
  if (operand >= 0 && memory != model.home() &&
      p.instruction->operands[operand_of_access(*p.instruction, operand).index()].memory == memory)
    return blocked_layout(p, access);
  for (const AffineExpr& form : natural_forms(a)) layout.push_back({form, 0});
  return layout;
}

}  // namespace isamap
