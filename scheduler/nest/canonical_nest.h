// SPDX-License-Identifier: Apache-2.0
#pragma once
// A canonical form for equal schedules, and its hash.

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Tiles are clipped to the enclosing tile, loops of one step removed, and stages without a loop in between sorted by
/// name. `statement` is the fused one.
Nest canonical(const Nest& nest, const Computation& statement);

/// FNV-1a of the text of the lines.
std::uint64_t hash(const Nest& nest);

}  // namespace isamap
