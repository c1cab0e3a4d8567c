// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tiles of several nests of one statement walk a dim together: they are made such as leave few remainders.

#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Is a dim, or a part of it, in lanes of an instruction?
bool is_in_lanes(const Nest& nest, const std::string& dim);
bool is_in_lanes(const Schedule& schedule, const std::string& dim);

/// Sums in lanes along an axis in lanes, in tiles of several vectors, `for i by 80`, get tiles of one vector, and tiles
/// of their parts are no larger: the largest tile bounds the number of remainders, however tiles divide each other.
Schedule with_vector_tiles(const GridShape& shape, Schedule schedule);

/// A grid has tiles of the least common multiple of those of its nests: with 6 and 16 positions of a dim 48, which
/// leave 1 to 47. The smaller tiles become divisors of the largest ones, if that is legal.
Schedule with_common_tiles(const GridShape& shape, const Schedule& schedule, const HardwareModel& model);

}  // namespace isamap
