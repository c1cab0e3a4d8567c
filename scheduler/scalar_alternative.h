// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scalar code against instructions: an instruction whose schedule is predicted to take longer than scalar code loses.

#include "isamap/scheduler.h"

namespace isamap {

/// How scheduler/scalar_alternative.cpp begins the reason of such a statement in `Scheduled::refusals`.
inline constexpr std::string_view predicted_slower = "scalar code is predicted to take ";

/// Statement by statement, where it exchanges no tiles with others, and the whole kernel: what is predicted to take
/// fewer cycles. `refusals` then says both numbers. Where no scalar unit reaches the tensors nothing changes.
void or_scalar_code(Scheduled& found, const Kernel& kernel, const HardwareModel& model, const ScheduleOptions& options);

}  // namespace isamap
