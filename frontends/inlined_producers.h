// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element-wise statements become parts of the body of their only consumer, so that their results stay in registers.
//
//   A[i] = X[i] + 3
//   C[i] = min(max(A[i], lo[]), hi[])      lo, hi: weights with the values 0 and 6
//   Y[i] = X[i] * C[i]                     gives     Y[i] = X[i] * min(max(X[i] + 3, 0), 6)
//
// Fusion passes one tile in registers to one consumer: of a value with two consumers, as X here, the second one reads
// memory. Every operation is rounded as before, so that all results stay the same to the last bit.
//
// A sum takes in products of two reads, whose intermediate would be as large as both: S[i] += A[i,k] with
// A[i,k] = X[i,k] * Z[i,k] is S[i] += X[i,k] * Z[i,k]. An instruction that multiplies and adds rounds once then.

#include <functional>

#include "frontends/model.h"

namespace isamap {

/// Can the target compute this statement whole? Only such statements take in others.
using ComputesWhole = std::function<bool(const Computation&, const std::vector<Tensor>&)>;

/// Inlines an intermediate that one statement reads at one access and mentions once, point by point. Bounds of `min`
/// and `max` that are weights of one element with known values become numbers. Statements of recurrences stay as they
/// are. Sums take in products only where the caller allows other roundings (`products_in_sums`).
Model inlined_producers(Model model, const ComputesWhole& computes_whole, bool products_in_sums);

}  // namespace isamap
