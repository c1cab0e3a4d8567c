// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves of registers that touch two lines of a cache, which takes the port twice: rows whose step is no multiple of a
// line begin anywhere in one.

#include "scheduler/cost/traffic.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// Part of the moves between memory and registers, of `widest` bytes at the most, that cross from one line to the next.
/// With g the greatest common divisor of a line and of all steps that the nest takes through memory, moves of w bytes
/// begin at each multiple of g in a line alike, and (w - g) / line of them cross. 0: packed copies, which begin at
/// lines, single elements, and machines without caches.
double split_share(const ResolvedNest& view, const Transfer& transfer, std::int64_t widest);

}  // namespace isamap
