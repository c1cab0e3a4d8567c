// SPDX-License-Identifier: Apache-2.0
#pragma once
// A summed dim that a tensor has as two axes becomes two dims, so that bands may run along one of them.
//
//   C[i,j] += A[k/32,i,k%32] * B[k,j]      gives      C[i,j] += A[k0,i,k1] * B[32*k0 + k1,j]
//
// This is how the product behind an attention reads its heads. Terms are added in the same order as before.

#include "isamap/kernel.h"

namespace isamap {

/// Statements in steps of a recurrence are left as they are.
Kernel with_split_dims(Kernel kernel);

}  // namespace isamap
