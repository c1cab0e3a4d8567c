// SPDX-License-Identifier: Apache-2.0
#pragma once
// Test vectors for operands: corner cases of each type (limits, signed zeros, denormals, infinities, NaN, rounding
// ties), every pair of them in all lanes at once, small integers that identify positions, and random bits.

#include "isamap/interpret.h"

namespace isamap {

/// One for each tensor of the kernel; dim 0 of every tensor counts test vectors. The same seed gives the same data.
std::vector<TensorData> test_vectors(const Kernel& kernel, std::uint64_t seed);

/// Corner cases of a type.
std::vector<Scalar> corners(DType type);

}  // namespace isamap
