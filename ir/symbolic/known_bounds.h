// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds of values by the conditions of enclosing guards, beyond ranges.

#include <vector>

#include "isamap/affine.h"

namespace isamap {

/// Is `e` at least 0 wherever all of `known` are? Sufficient, not necessary. Three tests: the ranges alone; one known
/// expression that `e` exceeds; and bounds of the numerator of one floor division in `e`, which is monotone: where 125
/// - x >= 0, x/63 <= 125/63 = 1.
bool nonnegative(const AffineExpr& e, const Ranges& ranges, const std::vector<AffineExpr>& known);

}  // namespace isamap
