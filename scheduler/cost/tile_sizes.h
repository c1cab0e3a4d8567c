// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of tiles below loops whose tiles do not divide: whole and short ones.

#include <functional>
#include <vector>

#include "scheduler/cost/access_counts.h"

namespace isamap {

/// The mean of `value` over all tiles below the first `loops` loops, of the extents of all dims.
double mean_of_tiles(const TileCounts& counts, int loops,
                     const std::function<double(const std::vector<std::int64_t>& sizes)>& value);

}  // namespace isamap
