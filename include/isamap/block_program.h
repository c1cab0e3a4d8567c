// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program for all sizes as a grid of blocks: any dim of a statement may be symbolic, and strides with it.
//
// Each symbolic dim of a statement is cut into runs: tiles of a constant size, any number of them, then what a tile
// leaves, exactly or under a mask whose lanes are counted at the call. The runs of all dims form a grid, and a block is
// the code of one cell: lowered for constant extents, with loops over tiles whose trip may be any number
// (program/tile_loops.h), and with strides that are arguments. So
//
//   the cells of parallel dims write disjoint parts of the output, and the runs of reduced dims are added up in order:
//   the first one starts the sum, the others have a block that adds to what is there.
//
// Runs cover every extent (`uncovered_extent`), and each block is right for its cell, so the grid is right for all.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isamap/program.h"
#include "isamap/schedule.h"
#include "isamap/symbolic.h"

namespace isamap {

/// A product of a number and expressions over sizes: the stride of a tensor axis.
struct SizeProduct {
  std::int64_t number = 1;
  std::vector<AffineExpr> factors;
  bool is_number() const { return factors.empty(); }
};
std::int64_t evaluate(const SizeProduct& product, const Bindings& sizes);

/// One stretch of a dim.
struct DimRun {
  std::int64_t tile = 0;  ///< above 0: any number of tiles of so many positions
  std::int64_t low = 0,
               high = 0;  ///< without a tile: serves low .. high positions; a mask counts them where these differ
};

struct GridAxis {
  std::string dim;    ///< of the statement
  AffineExpr extent;  ///< over sizes
  bool reduced = false;
  std::int64_t multiple = 1;  ///< divides every extent, by the facts
  std::int64_t most = -1;     ///< the largest extent, by the facts and the guard of the version; -1: not known
  std::vector<DimRun> runs;   ///< tiles by falling size, then the others by rising `low`
  /// The extent before it was rounded up: inputs that are not copied have no positions from here on, and blocks mask
  /// their loads (program/masked_ends.h). Nothing: the extent is as it was, or all inputs are copied.
  std::optional<AffineExpr> end = {};
};

/// Where a tile leaves less than half of it, the last tile and the rest are cut in halves: 14 + 3 positions become 9 +
/// 8, since a few positions have too few independent sums to hide latencies. Every rest has a run of its own then.
bool halves_rests(const GridAxis& axis);
/// Of the smallest tile: is the last one of so many positions cut in halves with what it leaves?
inline bool is_halved(std::int64_t left, std::int64_t tile) {
  return left > tile && left % tile > 0 && left % tile < tile / 2;
}

/// The smallest extent that the runs do not serve; nothing: they serve every one.
std::optional<std::int64_t> uncovered_extent(const GridAxis& axis);

/// How a tensor axis moves with a grid axis: `factor` positions a position of it.
struct AxisMove {
  int axis = -1;  ///< -1: with none
  std::int64_t factor = 0;
};

/// A tensor that is read beyond its edges is copied with the values that lie outside, from subscript `low` on.
struct PaddedCopy {
  std::vector<std::int64_t> low;    ///< by axis
  std::vector<AffineExpr> extents;  ///< of the copy, over sizes
  double value = 0;
};

/// One statement as a kernel of its own, and how its tensors lie. The axes have no runs yet.
struct GridShape {
  Kernel kernel;                                   ///< at the sample sizes
  std::vector<TensorId> tensors;                   ///< of the whole kernel, by tensor of `kernel`
  std::vector<GridAxis> axes;                      ///< the symbolic dims, in order
  std::vector<std::vector<AxisMove>> moves;        ///< by tensor and axis
  std::vector<std::vector<SizeProduct>> strides;   ///< by tensor and axis
  std::vector<std::vector<bool>> symbolic_extent;  ///< by tensor and axis
  std::vector<std::vector<AffineExpr>> extents;    ///< by tensor and axis, over sizes; empty: it is not dense
  std::map<TensorId, PaddedCopy> padded;           ///< subscripts in `kernel` count from `low`
  /// By tensor and axis, over sizes: subscript 0 of `kernel` is this one of the tensor. Empty: the same.
  std::vector<std::vector<AffineExpr>> first = {};
};
/// An error says what stands against a grid of blocks, and which size to bind.
Result<GridShape> grid_shape(const SymbolicKernel& kernel, std::size_t statement);
/// The statement and its tensors without axes: what plain loops compute.
GridShape shape_without_axes(const SymbolicKernel& kernel, std::size_t statement);

/// Instructions that sum pairs or quads of narrow operands leave a rest of a summed axis. With the axis rounded up to a
/// multiple of `tile` there is none: operands are copied with zeros, whose products are zero, where the extent is no
/// multiple. Those in `masked` are not copied: blocks load zeros beyond the end of the axis, or -inf (inf) for the
/// largest (smallest) of floats. Nothing: an operand is addressed otherwise, or such values would change the sum.
std::optional<GridShape> rounded_up(const GridShape& shape, std::size_t axis, std::int64_t tile,
                                    const std::set<TensorId>& masked = {});

/// What loads give beyond the end of an axis that was rounded up: it changes no sum of the statement.
double neutral_value(const GridShape& shape);

/// The kernel of a block with so many positions along each axis. A symbolic stride is its number times an odd one in
/// it, so that nothing is derived that does not hold at every size: rows of 64*W elements begin at multiples of 64.
/// `adds`: the output starts at what is there.
Kernel block_kernel(const GridShape& shape, const std::vector<std::int64_t>& counts, bool adds);

/// A loop over tiles: `step` positions of a grid axis each time.
struct TileLoop {
  int axis = -1;
  std::int64_t step = 1;
  bool operator==(const TileLoop&) const = default;
};

/// A loop over terms of a sum in whose n-th step subscript `first + step * n` of an axis of a tensor is read. Terms for
/// which it lies outside the tensor vanish, and are not computed (program/skipped_terms.h).
struct SkippedTerms {
  TensorId tensor;
  std::size_t dim = 0;
  AffineExpr first;  ///< over variables of the loops around it
  std::int64_t step = 1;
};

/// Extent of a call along a rounded axis: the positions from `first` on that the axis has, at most `lanes`, or none.
struct LanesToEnd {
  int axis = -1;
  AffineExpr first;  ///< over variables of the loops around it
  std::int64_t lanes = 0;
  bool operator==(const LanesToEnd&) const = default;
};

/// An input of a block that serves short tiles, too: position `tile * v + c` of axis `dim` is position c of panel v,
/// and the distance of panels is an argument of the block. In the tensor they are `tile` positions apart; in a shared
/// copy
/// `[j/tile, .., j%tile]` they lie one after the other. So one block reads both.
struct Panels {
  std::size_t dim = 0;
  std::int64_t tile = 0;
  std::string variable;  ///< of the loop over panels
  bool operator==(const Panels&) const = default;
};

struct Block {
  Program program;                        ///< without buffers: the cell never needs this block
  Schedule schedule = {};                 ///< it was lowered by
  std::map<std::string, TileLoop> loops;  ///< by loop variable: its trip is the count of the axis / step
  /// Local buffers that grow with counts, by buffer and axis: extent = nominal extent / nominal trip * count / step.
  /// Axis -1: the extent is a number.
  std::map<BufferId, std::vector<TileLoop>> grown;
  /// Extents of calls that are known at the call: by number in the program, the grid axis, and what to subtract from
  /// its count.
  std::map<std::int64_t, std::pair<int, std::int64_t>> masked;
  /// Buffers that are packed ahead of time: which one of `SymbolicProgram::arguments` each is
  /// (program/packed_constants.h).
  std::map<BufferId, BufferId> constants = {};
  std::map<std::string, SkippedTerms> skipped = {};  ///< by loop variable
  std::map<std::int64_t, LanesToEnd> ended = {};     ///< by number in the program, as `masked`
  /// Axes whose last tile may have fewer positions: trips are rounded up, loads and stores are in `ended`. The block
  /// serves cells of tiles and of what they leave (program/short_tiles.h).
  std::set<int> short_axes = {};
  std::map<TensorId, Panels> panels = {};
  bool repeated = false;  ///< a block before it has the same code
};

/// A statement without blocks: loops over its dims, element by element (backends/cpp/plain_loops.h), which serve every
/// size.
struct PlainLoops {
  std::string why;                       ///< there are no blocks
  bool in_order = false;                 ///< sums in the order of the statement
  std::vector<AffineExpr> extents = {};  ///< by dim, over sizes
};

struct Grid {
  GridShape shape;  ///< with runs
  std::vector<Block>
      blocks;  ///< by run of each axis, the last axis fastest; those that start the sum, then those that add
  std::vector<int> order;  ///< axes, outermost loop of the grid first
  Schedule schedule;
  /// Of a statement that reads beyond edges: the positions at edges (program/edge_shapes.h), where the inner zone is
  /// not empty; the blocks above serve that zone then, else all positions. None: they serve all positions at all sizes.
  std::vector<Grid> edges = {};
  std::optional<PlainLoops> loops = {};  ///< there are no blocks then, and no axes
  bool has_adding_blocks() const;
};
std::size_t block_count(const Grid& grid);  ///< of those that start the sum
/// All blocks with code of their own, those at edges, too; plain loops are one.
std::size_t body_count(const Grid& grid);

}  // namespace isamap
