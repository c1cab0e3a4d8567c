// SPDX-License-Identifier: Apache-2.0
#pragma once
// A statement of a symbolic kernel on a machine with thread blocks: one launch whose number of blocks, edges and
// strides are expressions over the sizes.
//
// Without tiles each thread computes one element of the output, with all terms of its sum; threads behind the last
// element do nothing. So the launch is right for every size whose indices fit their type, which intervals of the facts
// prove.
//
// With tiles the blocks compute with the instructions of a schedule. It is lowered for whole tiles and strides that
// tell nothing; lowered for other numbers of tiles it must be the same program but for the trips of loops over tiles,
// and conditions that move with them. Those become expressions, `ceil(M/64)`. Edges are added afterwards: what lies
// behind the end of a tensor is read as zero, which adds nothing to a sum of products, and is not stored. Schedules
// found at several sizes are each right at all of them: which one a call takes is only a matter of price.

#include <map>
#include <optional>
#include <vector>

#include "isamap/block_program.h"
#include "isamap/symbolic.h"

namespace isamap {

/// What a thread counts elements with.
enum class IndexType { bits32, bits64 };

/// Predicted cycles of a launch: ceil(tiles / at_once) * (first + steps * step), each a product over the sizes. The
/// three numbers are what the cost model says of one block with some steps and with more, and of many blocks.
struct TilePrice {
  std::vector<AffineExpr> tiles;  ///< along each symbolic dim that is not summed
  std::vector<AffineExpr> steps;  ///< along each that is
  std::int64_t at_once = 1;       ///< blocks that the machine runs at the same time
  std::int64_t first = 0, step = 1;
};

/// The program of one statement for any number of tiles along its symbolic dims.
struct TiledLaunch {
  GridShape shape;
  Schedule schedule;
  Program program;                          ///< for some number of tiles; sizes in its conditions are named `size.NAME`
  std::map<std::string, AffineExpr> trips;  ///< over the sizes, by loop variable
  std::vector<AffineExpr> enough;           ///< over the sizes; some are below 0: so few tiles are left to the threads
  std::vector<std::int64_t> tile = {};      ///< positions, by axis of the shape
  TilePrice price = {};
};

struct StatementLaunch {
  std::vector<int> dims;       ///< of the statement that threads are numbered over, the last one fastest
  std::vector<int> terms;      ///< that a thread adds up, in order
  std::int64_t threads = 256;  ///< of a block
  IndexType index = IndexType::bits64;
  bool fills = false;                   ///< a launch before it stores what sums start with
  std::vector<TiledLaunch> tiles = {};  ///< of those all of whose `enough` hold, the one of the least price
  bool starts = false;                  ///< the sum of a thread starts there in place of what is in the output
};

/// Errors: what no launch computes for all sizes, sizes whose indices fit no type or whose blocks are too many for one
/// launch; they name the size to bind, or the `max` that would do.
Result<std::vector<StatementLaunch>> statement_launches(const SymbolicKernel& kernel);

}  // namespace isamap
