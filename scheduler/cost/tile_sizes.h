// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of tiles below loops whose tiles do not divide: whole and short ones.

#include <boost/container/small_vector.hpp>
#include <functional>
#include <utility>
#include <vector>

#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// Extents of tiles along a dim, with counts.
using TileExtents = boost::container::small_vector<std::pair<std::int64_t, double>, 4>;

/// Extents of a dim below the first `loops` loops: n loops give at most n + 1 of them.
TileExtents extents_below(const ResolvedNest& view, int dim, int loops);

/// The mean of `value` over all tiles below the first `loops` loops, of the extents of all dims.
double mean_of_tiles(const ResolvedNest& view, int loops,
                     const std::function<double(const std::vector<std::int64_t>& sizes)>& value);

}  // namespace isamap
