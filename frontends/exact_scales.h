// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scaling of integer sums in f32, where that is the same function as the scaling in f64 that operators state.
//
//   Y[n,k] = sat_s8(round(f64(T[n,k]) * c[]))       c: a weight with a known value      gives
//   Y[n,k] = sat_s8(round(f32(T[n,k]) * 0.0123))
//
// Both sides are step functions that never fall (or never rise), with at most as many steps as bytes have values. They
// are equal at all 2^32 sums if they are equal at both sides of every step, which is tried out. The factor in f32 may
// be one of the neighbours of the rounded one.

#include <functional>
#include <string>
#include <vector>

#include "frontends/model.h"

namespace isamap {

/// Does one instruction of the target compute this statement?
using ComputedByOne = std::function<bool(const Computation&, const std::vector<Tensor>&)>;

/// Element-wise statements of one sum of 32 bits whose other operands are weights of one element get numbers in their
/// place, and f32 for f64, where an instruction computes them then. Notes say where f32 differs, and at which sum.
Model exact_scales(Model model, const ComputedByOne& computed);

/// A sum of 32 bits for which the two bodies, each of one read, differ; nothing: there is none. Precondition: neither
/// body both rises and falls (only casts, rounding, and arithmetic with numbers).
std::optional<std::int64_t> differing_sum(const ScalarExpr& one, const ScalarExpr& other);

}  // namespace isamap
