// SPDX-License-Identifier: Apache-2.0
#pragma once
// Terms of a sum that vanish beyond an edge and are not computed.
//
// O[p] += I[p+r-1] * F[r] has fewer terms at the first and the last position. Where a loop over r is inside the loop
// over p, its first and last term follow from the place of the position, which is known at the call:
//
//   for (r = max(0, -row); r < min(3, rows - row); ++r)      row: of I, that the first term reads
//
// So the same code serves all positions, and the rows that lie outside cost nothing.

#include <map>
#include <string>

#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// The loops over terms of a block, by variable, that read one position of `tensor` along an axis in each step, and do
/// nothing but add what they read there to sums in registers. The caller knows that terms outside vanish.
std::map<std::string, SkippedTerms> skipped_terms(const Program& block, const HardwareModel& model, TensorId tensor);

}  // namespace isamap
