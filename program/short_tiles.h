// SPDX-License-Identifier: Apache-2.0
#pragma once
// One block for whole tiles and for what they leave.
//
// A block walks an axis in tiles of T positions, whose vectors are loaded and stored whole. With masks that end with
// the count of the axis,
//
//   for (v = 0; v < (n + T - 1) / T; ++v)  c = load(C + T * v, lanes: min(16, n - T * v)), ..
//
// it serves every count: the last tile may be short. So the rows that tiles of another axis leave need one block in
// place of one for whole tiles and one for each mask. Whole tiles of all axes keep blocks without masks.

#include <optional>

#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// The block with such masks along the axis, which it walks in tiles of `tile`. Nothing: it has arrays in memory, an
/// operand moves otherwise than by one position a position, is used in another way than by loads and stores of vectors,
/// or masks take the registers of values.
std::optional<Block> with_short_tiles(Block block, const GridShape& shape, std::size_t axis, std::int64_t tile,
                                      const HardwareModel& model);

/// Does this block fill a shared copy of the input in the order `[j/tile, .., j%tile]`?
bool copies_panels(const Block& block, const GridShape& shape, TensorId tensor, const Panels& panels);

}  // namespace isamap
