// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the tensors of the caller lie: rows of a larger array have the step of that array.

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace isamap {

/// Elements from one index to the next, one for each axis; none: row-major and dense.
using Strides = std::vector<std::int64_t>;

/// Why these are no strides of the kernel's arguments: another number of them, steps that are not positive, elements of
/// an output that share a place. Nothing: they are, or there are none at all.
std::optional<Diagnostic> refused(const std::vector<Strides>& strides, const Kernel& kernel);

}  // namespace isamap
