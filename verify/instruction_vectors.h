// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operands hold when an instruction is tried: corners of each type (limits, signed zeros, denormals, infinities,
// NaN, rounding ties), every pair of corners in all lanes at once, small integers that tell positions apart, and random
// bits.

#include "isamap/interpret.h"

namespace isamap {

/// One for each tensor of the kernel; dim 0 of every tensor counts test vectors. The same seed gives the same data.
std::vector<TensorData> test_vectors(const Kernel& kernel, std::uint64_t seed);

/// Values of a type that arithmetic likes to get wrong.
std::vector<Scalar> corners(DType type);

}  // namespace isamap
