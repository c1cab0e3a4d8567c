// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time loop of a recurrence: in the program of one step (ir/verify/recurrence.h), whose repeated statements are
// already in a loop, slices are replaced by the whole tensors.

#include "ir/verify/recurrence.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// Buffers of slices become views of the whole tensors at index `variable` + offset (backward: last step - variable +
/// offset), where `variables` are those of the loops of the recurrences; intermediates of the kernel are in the home
/// memory.
Program wrap_in_recurrence(const Program& of_step, const OneStep& step, const Kernel& whole,
                           const std::vector<std::string>& variables, const HardwareModel& model);

/// Strides of a slice within its tensor, in elements.
std::vector<std::int64_t> strides_of(const Kernel& whole, const Slice& slice);

}  // namespace isamap
