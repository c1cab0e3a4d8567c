// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions that read beyond an edge, without a copy.
//
// A sum whose terms vanish where they read beyond an edge has fewer terms at positions near one: O[p] += I[p+r-1] *
// F[r] is O[0] += I[r] * F[r+1] over r: 2 at the first position. So the positions at edges are statements with domains
// of their own, which read nothing outside: by axis each low and each high position, or all inner ones. Each becomes a
// grid with schedules of its own.

#include <vector>

#include "program/padding_zones.h"

namespace isamap {

/// The shapes of all combinations but that of inner zones, where each axis has an inner position. Empty: the terms of a
/// position are not known, or there are too many combinations. The caller knows that terms outside vanish.
std::vector<GridShape> edge_shapes(const GridShape& shape, const SymbolicKernel& kernel, const PaddingZones& zones);

}  // namespace isamap
