// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hints for the target compiler's register allocation: where not to unroll, where to forget loaded values.

#include <set>

#include "backends/cpp/function/operand_storage.h"

namespace isamap {

/// Compilers keep a re-read element (`I[2*q + s]` by several steps of a window) in a register from its first to its
/// last use regardless of register pressure, and spill the accumulators instead: GCC 12 reached 60 of 95 GFLOP/s for a
/// 7x7 window.
struct RegisterHints {
  /// Short loops that the compiler would unroll and must not; loaded values are forgotten in each iteration, too.
  std::set<const Item*> rolled;
  /// Calls and loops preceded by a compiler memory barrier: loaded values are reloaded at their next use.
  std::set<const Item*> forget;
};

/// Tracks values loaded from memory. Values in registers anyway (a tile, an operand of a later call of the same
/// iteration) are not counted twice.
RegisterHints register_hints(const std::vector<Item>& items, const Places& places, const Program& program,
                             const HardwareModel& model);

}  // namespace isamap
