// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filling and draining tiles: by moves, which are instructions found by meaning, or element by element.

#include <functional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/tile_layout.h"

namespace isamap {

/// Instances of a unit that run in threads (`threads` of the description).
struct ThreadLoop {
  UnitId unit;
  AffineExpr number;  ///< of the instance, over loop variables
  std::int64_t count = 1;
};

/// What the functions below share while one program is made.
struct Lowering {
  explicit Lowering(const HardwareModel& machine) : model(machine) {}

  const HardwareModel& model;
  Program program;
  Ranges ranges;                         ///< of every loop variable made so far
  std::vector<Node> mask_fills;          ///< run before everything else
  std::vector<AffineExpr> nonnegative;   ///< what guards around say
  std::vector<ThreadLoop> thread_loops;  ///< what runs in threads around
  int variables = 0;

  std::string variable(const std::string& hint, std::int64_t trip);  ///< a fresh loop variable
  const Buffer& buffer(BufferId id) const { return program.buffers[id.index()]; }
  KnownHere known() const { return {model, ranges, nonnegative}; }
  /// A mask register of `memory` with the first `extent` of `full` positions set, or why there is none.
  Result<Ref> mask(MemoryId memory, std::int64_t full, std::int64_t extent);
  /// What holds only if this does; each once.
  void assume(const std::string& text);
};

/// A copy between a tile and what it is a tile of.
struct Copy {
  const TileLayout* inner = nullptr;
  const TileLayout* outer = nullptr;
  bool into_inner = true;
  std::vector<bool> zero;        ///< per coordinate of inner: padding must hold 0
  std::vector<std::string> via;  ///< only these moves; empty: any
  std::string packing_move =
      {};  ///< if `via` is empty: the move to try before single elements (scheduler/lowering/packing_moves.h)
  bool cleared = false;   ///< padding holds 0 already
  bool has_wait = false;  ///< what moves begin is complete before anything goes on (scheduler/lowering/async_groups.h)
  bool adds = false;      ///< out of the tile, by `via`: a combine, which adds to what stands there
  std::optional<double> outside;  ///< what reads beyond the outer tensor yield
  bool unroll = false;
  const TileLayout* part = nullptr;  ///< only its coordinates, which are some of inner's; nullptr: all
  /// Per coordinate of inner, where the tile may reach past it: the first value that the outer tensor does not have.
  /// What lies beyond is set to 0 on the way in and left out on the way out.
  std::vector<std::optional<std::int64_t>> ends;

  /// The coordinate of inner along which outer's rows run, if whole rows are to be copied one after another.
  std::optional<std::size_t> along_rows = {};

  const TileLayout& copied_tile() const { return part != nullptr ? *part : *inner; }
};

/// By moves where some move can, else element by element where a scalar unit reaches both memories.
Result<std::vector<Node>> transfer(Lowering& lowering, const Copy& copy);

/// Sets all of a tile, padding included, to a value. `part`: only its coordinates.
Result<std::vector<Node>> fill_tile(Lowering& lowering, const TileLayout& tile, Scalar value, bool unroll,
                                    const TileLayout* part = nullptr);

/// A call with masks made for its extents.
Result<Call> make_call(Lowering& lowering, InstructionId id, std::vector<Ref> operands,
                       std::vector<std::int64_t> extents);

/// A loop around `body`; trip 1 gives the body alone (its variable must then not occur).
std::vector<Node> loop_around(const std::string& variable, std::int64_t trip, bool unroll, std::vector<Node> body);

/// Visits a tile block by block. `blocks[i]`: elements of coordinate i in one block; `covered[i]`: the block is one
/// instruction's doing (the body adds `$dim`s), else its elements are looped over. The body gets each coordinate's
/// value at the block's (or element's) begin and the number of valid elements of each block; a coordinate that its
/// block does not divide has its last, shorter block visited by a body of its own. In the order of the tile's axes;
/// where the last of them is part of the coordinate `last`, all of that coordinate is visited before others go on.
using BlockBody = std::function<Result<std::vector<Node>>(const std::vector<AffineExpr>& begin,
                                                          const std::vector<std::int64_t>& valid)>;
Result<std::vector<Node>> for_each_block(Lowering& lowering, const TileLayout& tile,
                                         const std::vector<std::int64_t>& blocks, const std::vector<bool>& covered,
                                         bool unroll, const BlockBody& body,
                                         std::optional<std::size_t> last = std::nullopt);

}  // namespace isamap
