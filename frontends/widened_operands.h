// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands of few bits that a sum of products widens at each use are widened once.
//
//   T[i,j] += f32(A[i,k]) * f32(W[k,j])      gives      A_f32[i,k] = f32(A[i,k])
//                                                       T[i,j] += A_f32[i,k] * W_f32[k,j]     W_f32: a weight
//
// A statement reads each of its operands many times, and a conversion takes as long as a product. A wider operand is
// fetched with more bytes, so this pays where it is used often enough. Every value is the same to the last bit.

#include <functional>
#include <optional>

#include "frontends/model.h"

namespace isamap {

/// What conversions and bytes cost on a machine.
struct WideningPrices {
  /// Cycles of one point of a statement, by the fastest of the instructions that compute it; nothing: none does.
  std::function<std::optional<double>(const Kernel&, std::size_t statement)> cycles_of_point;
  double bytes_per_cycle = 1;  ///< from the memory behind the caches
};

/// Of a model whose constants are weights (frontends/done_ahead.h): floats under a cast in sums and other reductions,
/// and constants under one in element-wise statements, where the fewer cycles of all points exceed those of the
/// conversions and the bytes. What no instruction computes as
/// it is, and one does after that, is widened where more points than elements are. Recurrences stay as they are.
Model widened_operands(Model model, const WideningPrices& prices);

}  // namespace isamap
