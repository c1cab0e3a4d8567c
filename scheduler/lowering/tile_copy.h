// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filling and draining tiles: by moves, found by their semantics, or element by element.

#include <functional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/tile_layout.h"

namespace isamap {

/// A loop over instances of a unit that run in parallel threads (`threads` of the description).
struct ThreadLoop {
  UnitId unit;
  AffineExpr number;  ///< of the instance, over loop variables
  std::int64_t count = 1;
};

/// State of lowering one program.
struct Lowering {
  explicit Lowering(const HardwareModel& machine) : model(machine) {}

  const HardwareModel& model;
  Program program;
  Ranges ranges;                         ///< of every loop variable so far
  std::vector<Node> mask_fills;          ///< executed first
  std::vector<AffineExpr> nonnegative;   ///< expressions that enclosing guards make >= 0
  std::vector<ThreadLoop> thread_loops;  ///< enclosing parallel loops
  int variables = 0;

  std::string variable(const std::string& hint, std::int64_t trip);  ///< a fresh loop variable
  const Buffer& buffer(BufferId id) const { return program.buffers[id.index()]; }
  KnownHere known() const { return {model, ranges, nonnegative}; }
  /// A mask register of `memory` with the first `extent` of `full` positions set, or why there is none.
  Result<Ref> mask(MemoryId memory, std::int64_t full, std::int64_t extent);
  /// Records an assumption of the program, once.
  void assume(Assumption::Kind kind, const std::string& text);
};

/// A copy between a tile (inner) and the tensor or tile that it is part of (outer).
struct Copy {
  const TileLayout* inner = nullptr;
  const TileLayout* outer = nullptr;
  bool into_inner = true;
  std::vector<bool> zero;         ///< per coordinate of inner: padding must hold 0
  std::vector<bool> summed = {};  ///< per coordinate of inner: along sums calls may read padding
  std::vector<std::string> via;   ///< only these moves; empty: any
  std::string packing_move = {};  ///< tried if `via` is empty (scheduler/nest/packing_moves.h)
  bool cleared = false;           ///< padding is 0 already
  bool has_wait = false;  ///< asynchronous moves may be used: a wait follows (scheduler/lowering/async_groups.h)
  bool adds = false;      ///< out of the tile by a combine in `via`, which accumulates
  std::optional<double> outside;  ///< value of out-of-bounds reads of the outer tensor
  bool unroll = false;
  const TileLayout* part = nullptr;  ///< copy only this part of inner; nullptr: all
  /// Per coordinate of inner that may exceed the outer tensor: its extent there. The excess is set to 0 on the way in
  /// and skipped on the way out.
  std::vector<std::optional<std::int64_t>> ends;

  /// The coordinate of inner along outer's rows, to copy whole rows one after another.
  std::optional<std::size_t> along_rows = {};

  const TileLayout& copied_tile() const { return part != nullptr ? *part : *inner; }
};

/// By moves if one fits, else element by element if a scalar unit reaches both memories.
Result<std::vector<Node>> transfer(Lowering& lowering, const Copy& copy);

/// Sets a tile, padding included, to a value. `part`: only that part.
Result<std::vector<Node>> fill_tile(Lowering& lowering, const TileLayout& tile, Scalar value, bool unroll,
                                    const TileLayout* part = nullptr);

/// A call with mask registers for its extents.
Result<Call> make_call(Lowering& lowering, InstructionId id, std::vector<Ref> operands,
                       std::vector<std::int64_t> extents);

/// A loop around `body`; trip 1 gives the body alone (its variable must then not occur).
std::vector<Node> loop_around(const std::string& variable, std::int64_t trip, bool unroll, std::vector<Node> body);

/// How a tile is divided into blocks, and how their loops are emitted.
struct BlockTiling {
  std::vector<std::int64_t> blocks;  ///< elements of each coordinate in one block
  std::vector<bool> covered;  ///< by coordinate: one instruction covers the block; else its elements are looped over
  bool unroll = false;
  std::optional<std::size_t> last = {};  ///< a coordinate to visit completely, if the last axis is part of it
  bool parts_of_lines = false;           ///< an instruction takes part of a cache line along `last`: then always
};

/// The nodes of one block: `begin` is each coordinate's value at the block (or element), `valid` the number of valid
/// elements of each coordinate in it. Instructions add their `$dim`s.
using BlockBody = std::function<Result<std::vector<Node>>(const std::vector<AffineExpr>& begin,
                                                          const std::vector<std::int64_t>& valid)>;
/// Loops over a tile block by block, in the order of its axes; the tail of a coordinate has a body of its own.
Result<std::vector<Node>> for_each_block(Lowering& lowering, const TileLayout& tile, const BlockTiling& tiling,
                                         const BlockBody& body);

}  // namespace isamap
