// SPDX-License-Identifier: Apache-2.0
#pragma once
// Orders of the reduction loops of a statement.
//
// A statement of an imported model has its dims in the order of the operator, `c, r, s` of a convolution. Where tensors
// have their channels last, each step of `c` reads all places of the window anew; with `c` innermost it reads along one
// row. Which order costs less depends on tiles and packed copies, so it is a decision of the search.

#include <string>
#include <vector>

#include "isamap/kernel.h"

namespace isamap {

/// The reduction dims by their largest stride in the inputs, largest first: `r, s, c` of I[n,p + r,q + s,c] *
/// W[k,c,r,s]. Constant inputs do not count where there are others: they are packed once, in the order of the loops.
/// Empty: this is the stated order, or a stride is not known.
std::vector<std::string> reductions_by_memory(const Kernel& kernel, const Computation& statement);

}  // namespace isamap
