// SPDX-License-Identifier: Apache-2.0
#pragma once
// Coverage of the output by a statement at all sizes; scheduler/nest/write_coverage.h answers for numbers.

#include <cstddef>

#include "isamap/symbolic.h"

namespace isamap {

/// Does the statement write every element of its tensor: each axis by a dim of its own from end to end, or an axis of
/// one element at 0? Sufficient, not necessary: C[i,i] and C[2*i] are no, and so is a tensor written in two halves.
bool writes_whole(const SymbolicKernel& kernel, std::size_t statement);

}  // namespace isamap
