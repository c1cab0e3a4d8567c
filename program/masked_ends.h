// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads that end with a rounded-up axis.
//
// A sum in lanes takes whole vectors of terms. With its axis rounded up to a multiple of them (`rounded_up`) the last
// vector reaches beyond the end of its inputs. There a masked load of as many lanes as are left gives zeros, whose
// products add nothing:
//
//   for (k = 0; k < (K + 15) / 16; ++k)  a = load(A + 16 * k, lanes: min(16, K - 16 * k)), ..
//
// So there is no remainder of the sum, and no copy of the input. The largest or smallest of several values is such a
// sum, too: the register is filled with -inf (inf) before a load that keeps its other lanes.
//
// A sum of pairs or quads is rounded up to these. A move that makes their words in a local array, and writes zeros
// behind the rows that it takes, takes the rows that are left:
//
//   for (k = 0; k < (K + 1) / 2; ++k)  words(to + 32 * k, from B[2 * k], rows: min(2, K - 2 * k))

#include <set>

#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Inputs whose positions along a grid axis the block only loads into registers, in vectors that have a masked load, or
/// moves as above: those that `mask_ends` serves once the axis is rounded up to a multiple of `tile`.
std::set<TensorId> maskable_inputs(const Block& block, const GridShape& shape, std::size_t axis, std::int64_t tile,
                                   const HardwareModel& model);

/// Masks the loads of inputs that end before their axis does (`GridAxis::end`), and ends moves there. False: some use
/// of them is no such load or move, and the block does not serve the shape.
bool mask_ends(Block& block, const GridShape& shape, const HardwareModel& model);

/// Masks all loads and stores of these axes of tensors, which end with the count of a grid axis that is walked in
/// tiles. Loops that are unrolled over lanes are written out first. False: some use of them is no such load or store,
/// or the machine has fewer masks.
bool mask_short_tiles(Block& block, const std::map<TensorId, std::size_t>& ended, int axis, const HardwareModel& model);

}  // namespace isamap
