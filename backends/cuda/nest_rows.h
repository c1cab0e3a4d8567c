// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nests of loops without units, as stitching sees them: their loops, accesses and rows (stitch_nests.h).

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// A use of a buffer: its element offset, in the loops of its nest.
struct NestAccess {
  BufferId buffer;
  bool written = false;
  AffineExpr offset;
  Ranges ranges;
};

struct NestToStitch {
  std::vector<Loop> chain;  ///< perfectly nested loops, outermost first, without bodies
  std::vector<Node> body;   ///< of the innermost
  std::vector<NestAccess> accesses;
  std::vector<Comment> comments;  ///< before it
  std::int64_t elements = 1;      ///< that it writes
  std::int64_t points = 1;        ///< of its loops
  bool reduces = false;           ///< a loop tells no written elements apart
};

/// Nothing: it holds something else than loops without units and element statements in memory of all blocks.
std::optional<NestToStitch> read_nest(const Node& node, const Program& program, const HardwareModel& model,
                                      UnitId grid);

/// Products of the outermost loops: the numbers of rows that a nest can be cut into.
std::set<std::int64_t> row_counts(const NestToStitch& nest);

/// The outermost loops that make so many rows.
std::vector<Loop> rows_of(const NestToStitch& nest, std::int64_t rows);

/// Does each of the rows have places of its own in every buffer that one of the nests writes?
bool independent_rows(std::int64_t rows, const std::vector<const NestToStitch*>& nests);

}  // namespace isamap
