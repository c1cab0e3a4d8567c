// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much of a computation is left where what reads outside a tensor is left out.

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Of the points of `statement` those whose reads of what the nest's `do` line skips (`outside I skip`) lie inside its
/// shape, from 0 to 1; 1 where nothing is skipped. Each index is counted exactly and taken to be independent of the
/// others, which it is where no two of them use the same dim; an index with divisions, or over too many points to be
/// counted, is taken to lie inside.
double in_bounds_fraction(const Nest& nest, const Kernel& kernel, const Computation& statement);

}  // namespace isamap
