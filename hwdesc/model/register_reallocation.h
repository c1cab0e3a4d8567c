// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the threads of a block share unevenly: a field of state with a pool, such as how many registers each has.
//
// At the start all instances of a unit hold the same, as much of the pool's total as the field allows. Those of a role
// keep the least that the field may hold: one thread of them counts and asks, and has no sums. The others get what
// that leaves. With 3 instances, 512 in all, 24 at least and steps of 8: 168 each, then 24 and 2 x 240.

#include <optional>
#include <string>

#include "isamap/hardware.h"

namespace isamap {

struct Budget {
  InstructionId setter;
  std::int64_t value = 0;
};
struct Budgets {
  std::optional<Budget> role, others;  ///< both or none
  std::int64_t entry = 0;              ///< what all hold at the start
  std::int64_t beside = 0;             ///< of which a call needs so many beside its operands (StatePool)
};

/// `roles` and `others`: instances of `unit`, which stand inside `block`. Nothing where the machine has no such field,
/// or nothing is gained.
Budgets budgets(const HardwareModel& model, UnitId block, UnitId unit, std::int64_t roles, std::int64_t others);

}  // namespace isamap
