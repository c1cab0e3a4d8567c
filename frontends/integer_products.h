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
// Zero points of both operands leave the sum too, with a sum over each operand:
//   sum_k (x - zx) (w - zw) = sum_k x w - zx sum_k w - zw sum_k (x - zx)
// Where a machine multiplies bytes of other signs than those of the operands, one of them is read with its other sign,
// s8(x - 128) or u8(x + 128), with a zero point as much smaller or greater.
//
// Integer sums are exact modulo 2^32 in any order: moving zero points out of them changes no bit. Moving scales out of
// a sum of floats is reassociation, which `strict_float` leaves out; no such sum may exceed 32 bits.

#include <functional>

#include "frontends/model.h"

namespace isamap {

/// Are products of bytes of these types, in either order, what an instruction adds up in 32 bits?
using MultipliesBytes = std::function<bool(DType, DType)>;

/// Of a composed model. Dequantised products whose bytes `multiplies` takes with neither sign stay products of floats;
/// those of integers stay as they are. Statements over constants that it adds are those that `done_ahead` computes.
/// Errors: values in a file that cannot be read.
Result<Model> integer_products(
    const Model& model, bool strict_float = false,
    const MultipliesBytes& multiplies = [](DType, DType) { return true; });

}  // namespace isamap
