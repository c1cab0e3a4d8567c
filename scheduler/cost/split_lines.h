// SPDX-License-Identifier: Apache-2.0
#pragma once
// Line-crossing moves: a register load or store that touches two cache lines occupies its port twice.

#include "scheduler/cost/traffic.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// Share of the moves between memory and registers, of at most `widest` bytes, that cross a line. With g the greatest
/// common divisor of a line and of all steps of the nest through memory, moves of w bytes start at every multiple of g
/// in a line alike, so (w - g) / line of them cross. 0: packed tensors, which are aligned, single elements, and
/// machines without caches.
double split_share(const ResolvedNest& view, const Transfer& transfer, std::int64_t widest);

}  // namespace isamap
