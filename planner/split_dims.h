// SPDX-License-Identifier: Apache-2.0
#pragma once
// A dim becomes two, high and low, where it is divided by a number that divides its extent:
//
//   C[i,j] += A[k/32,i,k%32] * B[k,j]      gives      C[i,j] += A[k0,i,k1] * B[32*k0 + k1,j]
//   Y[i,j] = X[i,j%128]                    gives      Y[i,128*j0 + j1] = X[i,j1]
//
// A summed dim that a tensor has as two axes, so that bands may run along one of them: this is how the product behind
// an attention reads its heads. Terms are added in the same order as before. And the innermost dim of a statement that
// reads one element, as of Tile: its loop would divide at each element, and no vector could be read. Outer dims are
// divided once a row, and stay one, as bands of rows want them.

#include "isamap/kernel.h"

namespace isamap {

/// Dim `at`, whose extent `divisor` divides, becomes two: the quotient, and the remainder inside of it.
void split_dim(Computation& statement, std::size_t at, std::int64_t divisor);

/// Statements in steps of a recurrence are left as they are.
Kernel with_split_dims(Kernel kernel);

}  // namespace isamap
