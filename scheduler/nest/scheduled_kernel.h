// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernel that the nests of a schedule refer to: the given one with its `splits` (mapper/advice/statement_splits.h)
// and vectorized reductions (`lanes`, include/isamap/kernel.h) applied.

#include <optional>

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Errors name the entry that does not fit. Tensors and arguments of the kernel keep their numbers.
Result<Kernel> scheduled_kernel(const Kernel& kernel, const Schedule& schedule);

/// The same for a schedule that was verified or found by search.
Kernel scheduled_kernel_of(const Kernel& kernel, const Schedule& schedule);

/// Where the nest of statement `s` of the kernel is among those of the schedule, which may split statements before it;
/// nothing: it is split itself.
std::optional<std::size_t> nest_of(const Kernel& kernel, std::size_t s, const Schedule& schedule);

}  // namespace isamap
