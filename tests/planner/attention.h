// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel for tests of bands.

#include <string>

#include "ir/text/parse.h"

namespace isamap {

/// An attention of four heads with its projections: what a head reads of weights are three columns. `projected`: then a
/// product that sums over the heads.
inline Kernel attention_of_four_heads(bool projected = false) {
  std::string text = R"(kernel attention
tensor X: f32[1,5,6]
tensor WK: f32[6,12] constant
tensor WV: f32[6,12] constant
tensor WQ: f32[6,12] constant
tensor B: f32[12] constant
tensor K: f32[1,5,12]
tensor V: f32[1,5,12]
tensor T: f32[1,5,12]
tensor Q: f32[1,5,12]
tensor S: f32[1,4,5,5]
tensor M: f32[1,4,5]
tensor E: f32[1,4,5,5]
tensor L: f32[1,4,5]
tensor Y: f32[1,4,5,3]
tensor WO: f32[12,6] constant
tensor O: f32[1,5,6]
k: K[b,i,j] += X[b,i,c] * WK[c,j] over b: 1, i: 5, j: 12, c: 6
v: V[b,i,j] += X[b,i,c] * WV[c,j] over b: 1, i: 5, j: 12, c: 6
q: T[b,i,j] += X[b,i,c] * WQ[c,j] over b: 1, i: 5, j: 12, c: 6
bias: Q[b,i,j] = T[b,i,j] + B[j] over b: 1, i: 5, j: 12
scores: S[b,h,i,j] += Q[0,i,3*h + d] * K[0,j,3*h + d] over b: 1, h: 4, i: 5, j: 5, d: 3
maximum: M[b,h,i] max= S[b,h,i,j] over b: 1, h: 4, i: 5, j: 5
weights: E[b,h,i,j] = exp(S[b,h,i,j] - M[b,h,i]) over b: 1, h: 4, i: 5, j: 5
total: L[b,h,i] += E[b,h,i,j] over b: 1, h: 4, i: 5, j: 5
mix: Y[b,h,i,d] += E[b,h,i,j] / L[b,h,i] * V[0,j,3*h + d] over b: 1, h: 4, i: 5, d: 3, j: 5
)";
  if (projected)
    text += "out: O[b,i,k] += Y[b,h,i,d] * WO[3*h + d,k] over b: 1, i: 5, k: 6, h: 4, d: 3\n";
  else
    text.erase(text.find("tensor WO"), text.find("k: K") - text.find("tensor WO"));
  return *parse_kernel(text);
}

}  // namespace isamap
