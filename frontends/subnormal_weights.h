// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights too small to matter, and slow.
//
//   T[k] += X[c] * W[k,c]      W[3,7] = 1e-41      takes part as 0
//
// Training with weight decay leaves numbers below the least normal one (1.2e-38 in f32). Processors take some hundred
// cycles for a product with one, and it adds nothing to a sum of normal numbers.

#include "frontends/model.h"

namespace isamap {

/// Constants of f32 and f64 that only sums of products read, as factors, have zeros in place of such numbers. A note
/// says in how many. Errors: values in a file that cannot be read.
Diagnostics drop_subnormal_weights(Model& model);

}  // namespace isamap
