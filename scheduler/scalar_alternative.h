// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces instructions by scalar code where that is predicted to be faster.

#include "isamap/scheduler.h"

namespace isamap {

/// Each unfused statement, and the whole kernel: the code with fewer predicted cycles. `scalar_causes` then state
/// both numbers. No change if no scalar unit reaches the tensors.
void replace_by_scalar_code(Scheduled& found, const Kernel& kernel, const HardwareModel& model,
                            const ScheduleOptions& options);

}  // namespace isamap
