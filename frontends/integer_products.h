// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantised products as products of bytes.
//
//   A[n,k] = f32(s32(Q[n,k]) - s32(z[])) * s[]                     the form with operators Quantize and Dequantize
//   B[k,m] = f32(s32(W[k,m])) * t[m]
//   C[n,m] += A[n,k] * B[k,m]
// gives
//   I[n,m] += s32(Q[n,k]) * s32(W[k,m])                            an integer dot product, as machines have them
//   S[m]   += s32(W[k,m])                                          of constants
//   C[n,m]  = f32(I[n,m] - s32(z[]) * S[m]) * (s[] * t[m])
//
// Integer sums are exact modulo 2^32 in any order: moving zero points out of them changes no bit. Moving scales out of
// a sum of floats is reassociation, which `strict_float` leaves out; no such sum may exceed 32 bits.

#include "frontends/model.h"

namespace isamap {

/// Of a composed model. Statements over constants that it adds are those that `done_ahead` computes. Errors: values in
/// a file that cannot be read.
Result<Model> integer_products(const Model& model, bool strict_float = false);

}  // namespace isamap
