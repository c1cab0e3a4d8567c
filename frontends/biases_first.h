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
// last bit, those of floats are added up in another order. Where no schedule fills the accumulator the copy is a loop
// over the whole result, which takes longer than the addition did: such sums are named in `biases_behind`.

#include <functional>
#include <set>
#include <string>

#include "frontends/model.h"

namespace isamap {

/// Can accumulators of this type be filled from where tensors lie?
using FillsAccumulators = std::function<bool(DType)>;

struct BiasOptions {
  bool strict_float = false;                 ///< sums of floats keep their order
  std::set<std::string> biases_behind = {};  ///< statements whose bias is added behind the sum, as before
  /// Statements do not depend on how large extents are, so that a model has the same ones at all samples of its sizes.
  bool of_all_sizes = false;
};

/// Models with recurrences are left as they are.
Model biases_first(Model model, const FillsAccumulators& fills, const BiasOptions& options = {});

/// The statement that copies the bias in front of a sum: `conv_begins` of `conv`.
std::string copy_of_bias(const std::string& sum);
/// The sums that `biases_first` has begun with their biases, by name.
std::vector<std::string> sums_with_biases_first(const Kernel& kernel);

}  // namespace isamap
