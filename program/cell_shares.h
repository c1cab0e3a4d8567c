// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which cells of a grid each thread computes.
//
// The shares of a grid are combinations of stretches of its parallel axes, n_a of axis a. The longest share has a part
// of an axis of
//
//   f_a(n_a) = min(extent, ceil(tiles / n_a) * tile) / extent,   tiles = ceil(extent / tile)
//
// and takes sum(cost * product(f_a, a divides that cost)): work falls along every axis, a copy of an input only along
// those where the input moves, since each thread makes its own. Each prime factor of the number of threads, the largest
// first, goes to the axis where that falls most. Where it does not fall by more than a loop on threads takes to start,
// one thread computes all.
//
// The entry of a program decides so at the call (backends/cpp/symbolic/shared_cells.h); here for prices.

#include <utility>
#include <vector>

#include "isamap/symbolic_program.h"

namespace isamap {

/// By axis: into how many stretches it is cut at these sizes; all 1: one thread computes all cells.
std::vector<std::int64_t> shares_at(const Grid& grid, const Bindings& sizes);

double cycles_at(const SharedCost& cost, const Bindings& sizes);

/// The same for `tiles` pieces of work that take so many cycles together: stretches of strips.
std::int64_t shares_of(std::int64_t tiles, double cycles, std::int64_t threads, double start);

/// Positions by run.
using CountedRuns = std::vector<std::pair<std::size_t, std::int64_t>>;
/// The runs of stretch `number` of `count`, which begins between two tiles, or two of the runs that are not tiles, next
/// to its part of all positions.
CountedRuns stretch_of(const CountedRuns& runs, const GridAxis& axis, std::int64_t number, std::int64_t count);

}  // namespace isamap
