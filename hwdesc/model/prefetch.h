// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prefetches: moves into a cache, which fetch lines before their use and change no value.

#include "isamap/hardware.h"

namespace isamap {

/// Its destination is no buffer, and its source may exceed a buffer: no read value is used.
inline bool is_prefetch(const Instruction& instruction, const HardwareModel& model) {
  if (!is_move(instruction)) return false;
  const MemoryId to = instruction.operands[operand_of_access(instruction, 0).index()].memory;
  return to.valid() && model.memory(to).kind == MemoryKind::cache;
}

}  // namespace isamap
