// SPDX-License-Identifier: Apache-2.0
#pragma once
// From one step to all of them: the program of a step (ir/recurrence.h), whose repeated statements stand in a loop
// already, gets the tensors of the whole kernel.

#include "ir/recurrence.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// Buffers of slices become places in the whole tensors at loop `variable` + their offset; a tensor that only
/// statements of the kernel write and read stands in the home memory.
Program wrap_in_recurrence(const Program& of_step, const OneStep& step, const Kernel& whole,
                           const std::string& variable, const HardwareModel& model);

/// The strides that a slice has inside its tensor.
std::vector<std::int64_t> strides_of(const Kernel& whole, const Slice& slice);

}  // namespace isamap
