// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program tells the target's compiler about registers that the compiler allocates.

#include <set>

#include "backends/cpp/operand_storage.h"

namespace isamap {

/// Compilers keep an element that is read again (`I[2*q + s]` by several steps of a window) from the first to the last
/// time, without asking whether there is room, and spill the tile of sums instead: GCC 12 made 60 of 95 GFLOP/s of a
/// 7x7 window.
struct RegisterHints {
  /// Loops of few steps that would be printed one step after another, and must not be; each step forgets, too.
  std::set<const Item*> rolled;
  /// Calls and loops in front of which all that was read from memory is forgotten: it is read again where it is needed.
  std::set<const Item*> forget;
};

/// Follows the values that are read from memory. What is kept because it is kept anyway (a tile, what a later call of
/// the same step takes) is not counted twice.
RegisterHints register_hints(const std::vector<Item>& items, const Places& places, const Program& program,
                             const HardwareModel& model);

}  // namespace isamap
