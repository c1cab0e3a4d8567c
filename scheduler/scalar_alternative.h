// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces instructions by scalar code where that is predicted to be faster.

#include "isamap/scheduler.h"

namespace isamap {

/// Prefix of the reason for such a statement in `Scheduled::refusals`.
inline constexpr std::string_view predicted_slower = "scalar code is predicted to take ";

/// Each unfused statement, and the whole kernel: the code with fewer predicted cycles. `refusals` then states both
/// numbers. No change if no scalar unit reaches the tensors.
void replace_by_scalar_code(Scheduled& found, const Kernel& kernel, const HardwareModel& model,
                            const ScheduleOptions& options);

}  // namespace isamap
