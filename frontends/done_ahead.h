// SPDX-License-Identifier: Apache-2.0
#pragma once
// What only constants need is computed once, before the model runs.
//
//   F[c] = s[c] * rsqrt(v[c] + 1e-05)      F, B: weights
//   B[c] = b[c] - m[c] * F[c]
//   T[n,k,p,q] += X[n,c,p+r,q+s] * W[k,c,r,s]               T[n,k,p,q] += X[n,c,p+r,q+s] * W2[k,c,r,s]
//   Y[n,k,p,q] = T[n,k,p,q] * F[k] + B[k]         gives     Y[n,k,p,q] = T[n,k,p,q] + B[k]        W2 = W * F
//
// The second half is reassociation: a factor of every term in place of a factor of the sum. `strict_float` leaves it
// out; what remains gives the same bits as the model did.

#include "frontends/model.h"

namespace isamap {

struct AheadOptions {
  bool strict_float = false;
  /// Points that may be interpreted, about 5 ns each; statements beyond them stay in the model.
  double most_points = 1e9;
};

/// Of a composed model (`composed`): what nothing reads is dropped; statements whose reads are all constant become
/// weights, with values in memory; constant parts of bodies too; unless strict, `a*x + b` of `a*x + b` is one
/// statement, the factor of a sum of products with a constant operand moves into that operand, and weights below the
/// least normal number are zero (subnormal_weights.h). Inputs, outputs, recurrences and statements without constants
/// are left as they are. Weights of bytes state a range of 7 bits where they have it. Errors: values in a file that
/// cannot be read.
Result<Model> done_ahead(const Model& model, const AheadOptions& options = {});

}  // namespace isamap
