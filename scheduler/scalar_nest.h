// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nest of a statement that no instruction computes.

#include <optional>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// One point at a time, in the order of the domain; `shared`: below this loop.
Nest scalar_nest(const Computation& statement, const std::optional<For>& shared = {});

/// Loops that divide a statement evenly among the threads of a machine: one for each parallel dim, none where programs
/// have one thread.
std::vector<For> shares_of(const Computation& statement, const HardwareModel& model);

}  // namespace isamap
