// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves into a cache: they ask for lines before these are used, and change no value.

#include "isamap/hardware.h"

namespace isamap {

/// Its destination is no buffer, and its source may lie past the ends of one: nothing is read that anybody sees.
inline bool is_prefetch(const Instruction& instruction, const HardwareModel& model) {
  if (!is_move(instruction)) return false;
  const MemoryId to = instruction.operands[operand_of_access(instruction, 0).index()].memory;
  return to.valid() && model.memory(to).kind == MemoryKind::cache;
}

}  // namespace isamap
