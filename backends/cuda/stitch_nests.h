// SPDX-License-Identifier: Apache-2.0
#pragma once
// Block-level stitching: nests that follow one another become one launch, whose blocks own rows.
//
//   for h, i:  M[h,i] = -inf                        for block:                        // rows 8*block to 8*block + 7
//   for h, i, j:  M[h,i] max= X[h,i,j]                for r in 8:  M[..] = -inf
//   for h, i, j:  E[h,i,j] = exp(X[..] - M[h,i])      barrier of the block
//   for h, i:  S[h,i] = 0                     ->      for r in 8, j:  M[..] max= X[..]
//   for h, i, j:  S[h,i] += E[h,i,j]                  barrier of the block
//   for h, i, j:  Y[h,i,j] = E[..] / S[h,i]           ...
//
// A row is a value of the outermost loops of every nest, as many in each. It is legal where everything that a nest of
// the group writes is accessed by all of them at places of its own for each row: the values of the offset's part in the
// row's loops are further apart than the rest of it spans, which is tested for every row. No barrier of the grid is
// needed then; barriers of the block are inserted as everywhere (insert_barriers.h). Of the numbers of rows that are
// legal the largest is taken: where nests are element-wise a row is one element.
//
// Not stitched: nests with loops on units or calls of instructions, sums whose parts are added up by whole blocks
// (those are computed together with what follows them element by element: block_sums.h), and what would leave more
// processors without a block than apart.

#include <set>
#include <string>
#include <vector>

#include "backends/cuda/block_sums.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

struct StitchedNests {
  std::vector<Node> body;
  std::set<std::size_t> stitched;  ///< places in the body, of the loops over blocks that are such nests
  BegunSums begun;                 ///< sums that whole blocks add up
};

/// The body of a program with such nests in one loop over blocks, and without those that store the identity of a sum
/// which whole blocks add up next.
StitchedNests stitched(const std::vector<Node>& body, const Program& program, const HardwareModel& model, UnitId grid);

}  // namespace isamap
