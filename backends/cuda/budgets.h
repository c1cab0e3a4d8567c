#pragma once
// What the threads of a block share unevenly: a field of state with a pool, such as how many registers each has.
//
// At the start all instances of a unit hold the same, as much of the pool's total as the field allows. Those of a role
// keep what the register file says that every thread keeps beside its sums (`kept` of its pool); the others get what
// that leaves. With 3 instances and 512: 168 each, then 40 and 2 x 232.

#include <optional>
#include <string>

#include "hwdesc/hardware_model.h"

namespace isamap {

struct Budget {
  InstructionId setter;
  std::int64_t value = 0;
};
struct Budgets {
  std::optional<Budget> role, others;  ///< both or none
};

/// `roles` and `others`: instances of `unit`, which stand inside `block`. Nothing where the machine has no such field,
/// or nothing is gained.
Budgets budgets(const HardwareModel& model, UnitId block, UnitId unit, std::int64_t roles, std::int64_t others);

}  // namespace isamap
