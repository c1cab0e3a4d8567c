// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packed copies that cells of a grid share.
//
// A block whose schedule packs an input above all loops begins with nodes that fill a local array from that input and
// from nothing else. They depend on the runs of the axes along which the input moves: cells that differ along other
// axes only can use one copy. So a panel of the columns of a product is packed once, not once more for the rows that
// the tiles leave.

#include "isamap/symbolic_program.h"

namespace isamap {

struct SharedCopy {
  BufferId buffer;                 ///< the local array
  TensorId tensor;                 ///< of the block's kernel: its source
  std::vector<std::size_t> nodes;  ///< of the block's body that fill it
};

/// At most one for each input.
std::vector<SharedCopy> shared_copies(const Block& block, const GridShape& shape);

/// Is it a constant of which blocks pack copies, since its shape or place has a symbolic size? Those that are packed
/// before all loops are kept from call to call.
bool is_kept_constant(const GridShape& shape, TensorId tensor);

/// The axes along which an input moves.
std::vector<int> axes_of(const GridShape& shape, TensorId tensor);

}  // namespace isamap
