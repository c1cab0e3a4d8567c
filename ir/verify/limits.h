// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits of kernels and instructions that are checked when they are read, and relied on where bits stand for dims.

#include <cstddef>

namespace isamap {

/// Of a statement, and of a tensor.
inline constexpr std::size_t most_dims = 24;

}  // namespace isamap
