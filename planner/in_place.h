// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors that may live in the storage of another, which overwrites them: the exponents of a softmax in its output.

#include <map>
#include <vector>

#include "isamap/kernel.h"
#include "planner/plan.h"

namespace isamap {

/// T for each tensor E that one statement of a part reads where it writes T, at the same index, and that nothing else
/// in this part and no later part reads: both have the same type, shape and strides, and another part writes E.
/// Whether a program of the part reads each element before it overwrites it is a property of its schedule
/// (program/argument_aliasing.h). A tensor overwrites one other: the one that was written last.
std::map<TensorId, TensorId> overwritten_tensors(const Kernel& kernel, const std::vector<Part>& parts);

}  // namespace isamap
