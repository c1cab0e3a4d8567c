// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions that are exact for the values at hand: integer bodies equal as polynomials although their trees differ.
//
//   C[j] += sat_s16(s32(A[j,0])*s32(B[j,0]) + s32(A[j,1])*s32(B[j,1]))      as it is written
//   C[j] += s32(A[j,k]) * s32(B[j,k])      k = 2                            rolled up, while no pair sum saturates
//
// That no sum saturates follows from the ranges that the kernel states for its inputs, or from their types. Trees that
// differ in the order of products, or by distribution, are equal polynomials too (integers only: floats round). So are
// trees over integers of the other signedness, u16 where the instruction has s16, while what wraps is not widened.

#include <memory>
#include <string>
#include <vector>

#include "mapper/body_match.h"
#include "mapper/expansion.h"

namespace isamap {

/// What has to be known of values, for the certificate.
struct Exactness {
  std::vector<std::string> needs;  ///< "I in [0, 127]", tensors of the kernel
  std::vector<std::string> reads;  ///< the instruction's reads as they print
  std::vector<Interval> ranges;    ///< of each of them; zero and what stands outside a tensor are in
  std::vector<Loss> fitting;       ///< arguments of casts that fit
  /// The instruction with its sum rolled up; the last dim is new. Nothing: reads and dims are the instruction's own.
  std::shared_ptr<const Instruction> rolled;
};

struct ExactMatch {
  BodyMatch match;  ///< reads of the statement on reads of the instruction, rolled up if it is
  std::shared_ptr<const Exactness> exact;
};

/// Every way in which the polynomials are equal and nothing saturates or wraps on the way; at most 64.
std::vector<ExactMatch> match_exactly(const Kernel& kernel, StatementId statement, const Instruction& instruction);

/// Where the polynomials are equal, but a sum may saturate: what does, what it reaches, and the ranges that would
/// prevent it. Empty when there is no such way.
struct SaturationReason {
  std::string text;
  std::vector<std::pair<TensorId, Interval>> ranges;  ///< each alone makes it exact
};
SaturationReason why_not_exact(const Kernel& kernel, StatementId statement, const Instruction& instruction);

}  // namespace isamap
