// SPDX-License-Identifier: Apache-2.0
#pragma once
// Intermediates of 16 bits as f32.
//
//   T[i,j] += f32(A[i,k]) * f32(W[k,j])
//   Y[i,j] = max(f16(T[i,j]) + b[j], 0)                        gives     Y[i,j] = max(T[i,j] + f32(b[j]), 0)      Y:
//   f32 Z[i,j] = Y[i,j] * s[j]                                               Z[i,j] = f16(Y[i,j] * f32(s[j])) an output
//
// A file in f16 says that every operator rounds its result. Processors that compute in f32 convert for that twice, and
// other runtimes keep f32 between operators. Each value is the exact function of fewer rounded ones: what is left out
// are roundings to f16 (or bf16), and overflows beyond its range. A Cast to such a type, which says nothing else,
// rounds.

#include <functional>

#include "frontends/model.h"

namespace isamap {

/// Of a composed model: intermediates of f16 and bf16 for which `wider` says so become f32, and whatever is computed
/// in such a type in the bodies of all statements is computed in f32. Inputs, outputs, constants, results of Cast nodes
/// from wider types and the tensors of recurrences keep their types.
Model f32_intermediates(Model model, const std::function<bool(const Tensor&)>& wider);

/// Does that change any tensor, if all are wanted?
bool has_half_intermediates(const Model& model);

}  // namespace isamap
