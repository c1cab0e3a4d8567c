// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernel that the nests of a schedule are for: the one that was asked for, with statements in two (`splits`,
// mapper/statement_splits.h) and reductions in lanes (`lanes`, include/isamap/kernel.h).

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Errors name the entry that does not fit. Tensors and arguments of the kernel keep their numbers.
Result<Kernel> scheduled_kernel(const Kernel& kernel, const Schedule& schedule);

/// The same of a schedule that has been read, or found.
Kernel scheduled_kernel_of(const Kernel& kernel, const Schedule& schedule);

}  // namespace isamap
