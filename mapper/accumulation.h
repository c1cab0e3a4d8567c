// SPDX-License-Identifier: Apache-2.0
#pragma once
// (A): what calls leave in the output adds up from call to call.
//
// A call of `C[i] += ..` that keeps what stands in C may be one of many that add to an element. One that always starts
// anew (`start: {C: [zero]}`, or a sum that is written out and assigned) leaves only its own terms: then no two calls
// may write one element, and nothing may stand there before.

#include <string>

#include "mapper/conditions.h"

namespace isamap {

/// `refusal`: why it is `no`. `unknown` (indices that add dims, digits that tiles cut unevenly) is left to the solver.
Truth adds_up(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover,
              std::string& refusal);

}  // namespace isamap
