// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loop splitting: a loop whose variable is divided becomes loops over quotients and remainders, in the same order.
//
//   for t < 400: Y[t] = X[10*(t/40) + t/2 - 10*(t/20)]       an image with rows of 10, twice as wide and high
//   for a < 10: for b < 2: for c < 10: for d < 2: Y[40*a + 20*b + 2*c + d] = X[10*a + c]
//
// Divisions take several cycles for each element, and compilers do not vectorise such a loop. It is split at the
// largest divisor, the loop over remainders at the next one, and so on; steps in front of the first multiple of the
// divisor and behind the last one are loops of their own. Digits of a tile are fused first, so that rows may begin
// anywhere in it: the variable of `for k < 133: for l < 192` is t = 192*k + l.

#include <vector>

#include "scheduler/lowering/tile_copy.h"

namespace isamap {

/// Of perfect nests of sequential loops around element statements and their guards; where a division by the innermost
/// variable would be left, or the code would be more than a few nests, they stay as they are.
std::vector<Node> without_divisions(Lowering& lowering, std::vector<Node> nodes);

}  // namespace isamap
