// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program for all sizes of a symbolic kernel: grids of blocks, launches of thread blocks, or loops over rows.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isamap/program.h"
#include "isamap/schedule.h"
#include "isamap/symbolic.h"

namespace isamap {

// A grid of blocks: any dim of a statement may be symbolic, and strides with it.
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

/// A product of a number and expressions over sizes: the stride of a tensor axis.
struct SizeProduct {
  std::int64_t number = 1;
  std::vector<AffineExpr> factors;
  bool is_number() const { return factors.empty(); }
  bool operator==(const SizeProduct&) const = default;
};
/// "4*H*(W + 1)"
std::string print(const SizeProduct& product);
std::int64_t evaluate(const SizeProduct& product, const Bindings& sizes);

/// One stretch of a dim.
struct DimRun {
  std::int64_t tile = 0;  ///< above 0: any number of tiles of so many positions
  std::int64_t low = 0,
               high = 0;  ///< without a tile: serves low .. high positions; a mask counts them where these differ
};

struct GridAxis {
  std::string dim;     ///< of the statement
  SizeProduct extent;  ///< over sizes; of one factor unless dims were fused (`fused_dims`)
  bool reduced = false;
  std::int64_t multiple = 1;  ///< divides every extent, by the facts
  std::int64_t most = -1;     ///< the largest extent, by the facts and the guard of the version; -1: not known
  std::vector<DimRun> runs;   ///< tiles by falling size, then the others by rising `low`
  /// The extent before it was rounded up: inputs that are not copied have no positions from here on, and blocks mask
  /// their loads (program/masked_ends.h). Nothing: the extent is as it was, or all inputs are copied.
  std::optional<AffineExpr> end = {};
};

/// The extent of an axis that is one dim of the kernel; nothing: of fused dims, a product of sizes.
std::optional<AffineExpr> affine_extent(const GridAxis& axis);

/// Where a tile leaves less than half of it, the last tile and the remainder are cut in halves: 14 + 3 positions become
/// 9 + 8, since a few positions have too few independent sums to hide latencies. Every remainder has a run of its own
/// then.
bool halves_remainders(const GridAxis& axis);
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
  std::vector<std::vector<AffineExpr>> extents;    ///< by tensor and axis, over sizes; empty: not dense, or fused
  std::map<TensorId, PaddedCopy> padded;           ///< subscripts in `kernel` count from `low`
  /// By tensor and axis, over sizes: subscript 0 of `kernel` is this one of the tensor. Empty: the same.
  std::vector<std::vector<AffineExpr>> first = {};
};
/// An error says what stands against a grid of blocks, and which size to bind.
Result<GridShape> grid_shape(const SymbolicKernel& kernel, std::size_t statement);
/// Parallel dims that lie one after another in every tensor that has them, such as the rows and columns of an image
/// that a pointwise convolution reads, as one dim `p_q` of as many positions: tiles cross rows, and a row leaves no
/// remainder. Nothing: there are none, or another dim is summed over and symbolic.
std::optional<GridShape> fused_dims(const GridShape& shape);
/// The statement and its tensors without axes: what plain loops compute.
GridShape shape_without_axes(const SymbolicKernel& kernel, std::size_t statement);

/// Instructions that sum pairs or quads of narrow operands leave a remainder of a summed axis. With the axis rounded up
/// to a multiple of `tile` there is none: operands are copied with zeros, whose products are zero, where the extent is
/// no multiple. Those in `masked` are not copied: blocks load zeros beyond the end of the axis, or -inf (inf) for the
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

/// Cycles that grow with a product of sizes. Shares of some axes of a grid divide them, others repeat them.
struct SharedCost {
  double cycles = 0;        ///< of one of `count`
  SizeProduct count;        ///< points of a statement, or elements of a copy
  std::set<int> axes = {};  ///< those whose shares divide them
};

/// How cells are distributed over threads: each axis in `tiles` into stretches of its runs, which are cut between
/// tiles, and a share is a combination of them. How many stretches there are is decided at the call
/// (program/cell_shares.h). Blocks are the same for any number of threads, and so are results.
struct CellShares {
  std::int64_t threads = 1;                ///< at most so many shares; 1: the calling thread computes all cells
  double start = 0;                        ///< cycles to begin a loop on threads and to join them
  std::map<int, std::int64_t> tiles = {};  ///< by axis that may be cut: the positions of its largest tile
  std::vector<SharedCost> costs = {};      ///< of the statement, then of copies that its cells share
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
  CellShares shares = {};
  bool has_adding_blocks() const;
};
std::size_t block_count(const Grid& grid);  ///< of those that start the sum
/// All blocks with code of their own, those at edges, too; plain loops are one.
std::size_t body_count(const Grid& grid);

// A launch: a statement on a machine with thread blocks, whose number of blocks, edges and strides are expressions over
// the sizes.
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

// Rows: a kernel whose symbolic dim is the outermost axis of every tensor that has it computes each row by itself, and
// the distance of two rows in memory is a number. So a program for `rows` rows is right for every block of so many
// rows, at a shifted address; and a loop of it that walks all rows, a tile a step, is right for any number of steps
// (program/row_loops.h). A version is a list of such parts, those for many rows first: each takes as many rows as it
// can, and the last ones exactly the rows that are left. Tiles stay constants, no padding is computed.

/// Code for multiples of `rows` rows where it has loops over rows, else for exactly `rows`.
struct RowPart {
  Program program;
  std::int64_t rows = 1;
  std::map<std::string, std::int64_t> loops = {};  ///< rows of one step, by loop variable: its trip is rows / step
};

/// Parts by falling `rows`; those without loops and below the last one with loops are one for each remainder.
struct RowVersion {
  std::vector<SizeFact> when;  ///< guard: all of them hold; none: every size
  std::vector<RowPart> parts;  ///< none: it has grids
  /// Tiles of the last part with loops and 1, 2, .. rows before them, in one pass over the tensors without rows
  /// (program/row_loops.h); by the number of these rows, for each that a tile leaves. None: a second pass.
  std::vector<RowPart> remainder_first = {};
  /// The rows are distributed over threads, between tiles. One thread: loops inside of parts are, or nothing is.
  CellShares shares = {};
};

struct SymbolicProgram {
  SymbolicKernel kernel;
  AffineExpr rows;                        ///< of a call, over the sizes
  std::map<TensorId, std::int64_t> step;  ///< elements from one row to the next, of tensors with rows
  std::vector<RowVersion> versions;       ///< the first whose guard holds, else the last one; they cover every size
  /// Kernels without rows: a grid of blocks for each version and statement, statements fastest; versions have no parts
  /// then.
  std::vector<Grid> grids = {};
  Program arguments = {};  ///< of grids and launches: the kernel at the sample sizes and its arguments, without code
  /// Machines with thread blocks: by statement; there is one version, without parts.
  std::vector<StatementLaunch> launches = {};
};

/// The part whose schedule is the version's: the first that serves any number of tiles, else the largest block. Others
/// may have schedules of their own (`Program::schedule_text`). The version has parts.
const RowPart& main_part(const RowVersion& version);
/// The first of the parts that serve one remainder each; all others take as many of their tiles as there are.
std::size_t first_remainder(const std::vector<RowPart>& parts);
/// Does this part take the rows that its tiles leave, too, in one pass (`remainder_first`)?
bool takes_remainder(const RowVersion& version, std::size_t part);
/// Pieces that shares of so many rows consist of: the smallest of these tiles.
std::int64_t pieces_of(const RowVersion& version, std::int64_t rows);
/// Rows of the parts with another schedule than the version's.
std::vector<std::int64_t> parts_with_own_schedule(const RowVersion& version);

/// The smallest number of rows that the parts do not serve; nothing: they serve every number. Each part takes all
/// multiples of its rows that are left, so that numbers below the rows of the first part decide for all.
std::optional<std::int64_t> uncovered_rows(const RowVersion& version);

/// Sizes that satisfy the facts and none of the guards, each the conjunction of its conditions; nothing: the guards
/// cover all sizes, which Z3 proved unless one has no conditions. Without sizes in it: Z3 gave no answer.
std::optional<Bindings> uncovered_sizes(const SizeFacts& facts, const std::vector<std::vector<SizeFact>>& guards);
std::optional<Bindings> uncovered_sizes(const SymbolicProgram& program);

/// Which version serves these sizes, from 0 on.
std::size_t version_at(const SymbolicProgram& program, const Bindings& sizes);

/// Where a kernel has rows: in this dim of each statement. An error says what stands against it, and which size to
/// bind.
struct Rows {
  AffineExpr count;                         ///< over the sizes
  std::vector<std::string> dims;            ///< by statement
  std::map<TensorId, std::int64_t> factor;  ///< tensors with rows: axis 0 moves by so many positions a row
};
Result<Rows> rows_of(const SymbolicKernel& kernel);

/// The kernel of a block of rows.
Kernel with_rows(const SymbolicKernel& kernel, const Rows& rows, std::int64_t count);

}  // namespace isamap
