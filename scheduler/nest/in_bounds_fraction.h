// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fraction of a computation that remains when out-of-bounds terms are skipped (`outside I skip`).

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Points of `statement` whose skipped reads are in bounds over all points: 0 to 1, 1 if nothing is skipped. The
/// product over indices of the exact fraction of each, so indices that share a dim are treated as independent; an index
/// with divisions, or with too many points to enumerate, counts as in bounds.
double in_bounds_fraction(const Nest& nest, const Kernel& kernel, const Computation& statement);

/// Points of a box at which an expression is not negative over all points, with the same exceptions.
double nonnegative_fraction(const AffineExpr& e, const IterationDomain& box);

}  // namespace isamap
