// SPDX-License-Identifier: Apache-2.0
#pragma once
// (A): partial sums accumulate correctly from call to call.
//
// A call of `C[i] += ..` that keeps the old value of C may be one of many that accumulate into an element. One that
// always overwrites (`start: {C: [zero]}`, or an unrolled sum that is assigned) stores only its own terms: then no two
// calls may write one element, and the element must have no value before.

#include <string>

#include "mapper/proof/conditions.h"

namespace isamap {

/// Why no extents of these digits would do: the output holds a value, or none of them steps through a dim of the sum.
/// Empty: some might.
std::string leaves_sum_apart(const Alignment& alignment, const std::vector<DigitStep>& digit_steps);

/// `refusal`: the reason for `no`. `unknown` (indices that add dims, digits that tiles cut unevenly) is left to the
/// solver.
Truth adds_up(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover,
              std::string& refusal);

}  // namespace isamap
