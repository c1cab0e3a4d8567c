// SPDX-License-Identifier: Apache-2.0
#pragma once
// Register reallocation: a state field with a pool that the threads of a block may divide unevenly, such as their
// registers.
//
// At the start all instances of a unit have the same share of the pool, as much as the field allows. Those of a role
// (producer warps) reduce it to the field's minimum, as they hold no accumulators. The others get the remainder. With 3
// instances, a total of 512, a minimum of 24 and steps of 8: 168 each, then 24 and 2 x 240.

#include <optional>

#include "isamap/hardware.h"

namespace isamap {

struct Budget {
  InstructionId setter;
  std::int64_t value = 0;
};
struct Budgets {
  std::optional<Budget> role, others;  ///< both or none
  std::int64_t entry = 0;              ///< share of each instance at the start
  std::int64_t beside = 0;             ///< registers of it that a call needs beside its operands (StatePool)
};

/// `roles` and `others`: instances of `unit`, inside `block`. Nothing where the machine has no such field, or no share
/// would grow.
Budgets budgets(const HardwareModel& model, UnitId block, UnitId unit, std::int64_t roles, std::int64_t others);

}  // namespace isamap
