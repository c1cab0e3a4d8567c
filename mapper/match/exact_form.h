// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions that are exact for the stated value ranges: integer bodies equal as polynomials although their trees
// differ.
//
//   C[j] += sat_s16(s32(A[j,0])*s32(B[j,0]) + s32(A[j,1])*s32(B[j,1]))      as written
//   C[j] += s32(A[j,k]) * s32(B[j,k])      k = 2                            rerolled, if no pair sum saturates
//
// The ranges that the kernel states for its inputs, or their types, prove that no sum saturates. Trees that differ in
// the order of products, or by distribution, are equal polynomials too (integers only: floats round). So are trees over
// integers of the other signedness, u16 where the instruction has s16, if no wrapped value is widened.

#include <memory>
#include <string>
#include <vector>

#include "mapper/match/body_match.h"
#include "mapper/match/expansion.h"

namespace isamap {

/// Facts about values that exactness needs, for the certificate.
struct Exactness {
  std::vector<std::string> needs;  ///< "I in [0, 127]", tensors of the kernel
  std::vector<std::string> reads;  ///< the instruction's reads as they print
  std::vector<Interval> ranges;    ///< of each read, with zero and the values outside a tensor
  std::vector<Loss> fitting;       ///< arguments of casts that fit
  /// The instruction with its sum rerolled; the last dim is new. Nothing: reads and dims are the instruction's own.
  std::shared_ptr<const Instruction> rolled;
};

struct ExactMatch {
  BodyMatch match;  ///< reads of the statement on reads of the instruction (rerolled, if it is)
  std::shared_ptr<const Exactness> exact;
};

/// Every binding with equal polynomials and no intermediate saturation or wrap; at most 64.
std::vector<ExactMatch> match_exactly(const Kernel& kernel, StatementId statement, const Instruction& instruction);

/// Where the polynomials are equal, but a sum may saturate: the sum, its interval, and the ranges that would prevent
/// it. Empty when there is no such binding.
struct SaturationReason {
  Reason reason;
  std::vector<std::pair<TensorId, Interval>> ranges;  ///< each alone makes it exact
  explicit operator bool() const { return !reason.text.empty(); }
};
SaturationReason why_not_exact(const Kernel& kernel, StatementId statement, const Instruction& instruction);

}  // namespace isamap
