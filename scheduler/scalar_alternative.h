// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces instructions by scalar code where that is predicted to be faster.

#include "isamap/scheduler.h"

namespace isamap {

/// Each unfused statement, and the whole kernel: scalar code if that is better by the objective (docs/cost.md).
/// `scalar_causes` then state the cycles of both. No change if no scalar unit reaches the tensors.
void replace_by_scalar_code(Scheduled& found, const Kernel& kernel, const HardwareModel& model,
                            const ScheduleOptions& options);

}  // namespace isamap
