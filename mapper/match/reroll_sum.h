// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rerolls an unrolled sum of an instruction into a sum over a dim: A[j,0]*B[j,0] + A[j,1]*B[j,1] is A[j,k]*B[j,k], k =
// 2.

#include <memory>

#include "isamap/instruction.h"
#include "mapper/match/expansion.h"

namespace isamap {

struct RerolledSum {
  /// The new dim is its last; its reads are the tensors in the order of their first read in the original.
  std::shared_ptr<const Instruction> instruction;
  bool overwrites = false;  ///< the original assigns
};

/// An index 2*j + k with k below 2 may become two indices, 2*j and k: the same elements, as a product of dims. Or it is
/// kept, as the layouts of operands refer to it.
enum class Axes { separated, kept };

/// Nothing when the terms are not congruent: equal coefficients, the same tensors in each, and indices that grow by
/// constant steps from term to term.
std::optional<RerolledSum> reroll_sum(const Instruction& instruction, const Polynomial& body, Axes axes);

}  // namespace isamap
