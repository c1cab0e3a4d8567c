// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums that begin with their bias, for machines whose accumulators can be filled from memory:
//
//   T[n,k] += s32(A[n,c]) * s32(W[k,c])
//   Y[n,k]  = sat_s8(round(f32(T[n,k] + B[k]) * 0.5))        gives
//
//   T[n,k]  = B[k]
//   T[n,k] += s32(A[n,c]) * s32(W[k,c])
//   Y[n,k]  = sat_s8(round(f32(T[n,k]) * 0.5))
//
// and where nothing but the addition was left, Y[n,k] = B[k] and Y[n,k] += .. . Sums of integers stay the same to the
// last bit, those of floats are added up in another order.

#include <functional>

#include "frontends/model.h"

namespace isamap {

/// Can accumulators of this type be filled from where tensors lie?
using FillsAccumulators = std::function<bool(DType)>;

/// `strict_float`: sums of floats keep their order. Models with recurrences are left as they are.
Model biases_first(Model model, const FillsAccumulators& fills, bool strict_float = false);

}  // namespace isamap
