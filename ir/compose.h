// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies between statements vanish by composing accesses, whatever operator they came from.
//
//   T[i,j] = X[j,i]                        Y[i,j] = exp(X[j,i])
//   Y[i,j] = exp(T[i,j])          gives
//
//   T[c] += A[c,k] * B[k]                  Y[c + 64] += A[c,k] * B[k]
//   Y[c + 64] = T[c]              gives
//
// A read of a copy is a read of its source: forward, for every reader. A copy of the only use of a result is a write to
// its target: backward, as of concatenations. A reshape is digits of a flat position, `/` and `%`; the ranges of the
// iterators remove those that compositions make superfluous, so that reshapes there and back leave nothing.

#include <vector>

#include "isamap/kernel.h"

namespace isamap {

struct Composed {
  Kernel kernel;
  /// By statement of `kernel`: its number before, then those of the copies that it took in.
  std::vector<std::vector<std::size_t>> statements;
  std::vector<TensorId> tensors;  ///< by tensor before: its number in `kernel`; none if it is gone
};

/// Is every element that the statement accesses there in the tensor? False: that is not proved.
bool lies_inside(const Access& access, const Computation& statement, const Tensor& tensor);

/// The kernel must be verified. Inputs and outputs keep their names and order; results are equal to the last bit.
Composed composed(const Kernel& kernel);

}  // namespace isamap
