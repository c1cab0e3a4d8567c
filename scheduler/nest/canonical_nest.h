// SPDX-License-Identifier: Apache-2.0
#pragma once
// One form for all nests that are the same schedule, and a number that tells others apart.

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Tiles are cut to the tile around them, loops of one step go, stages with no loop between them stand in order of
/// their names. `statement` is the fused one.
Nest canonical(const Nest& nest, const Computation& statement);

/// FNV-1a of the text of the lines.
std::uint64_t hash(const Nest& nest);

}  // namespace isamap
