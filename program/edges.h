// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program of whole tiles for any number of tiles, and for extents that are no multiple of them.

#include <map>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Sizes in conditions of such programs: "size.M".
inline std::string size_symbol(const std::string& name) { return "size." + name; }
AffineExpr with_size_symbols(const AffineExpr& over_sizes);

/// What differs in a program that was lowered for `by` more tiles of an axis.
struct MoreTiles {
  std::map<std::string, std::int64_t> trips;  ///< loops with so many steps more
  Program program;                            ///< conditions count `steps` - n more, where they move with the tiles
};
/// `n`, lowered for some number of tiles, as a program for `steps` of them. Nothing: `more`, lowered for `by` more,
/// differs in other things than trips, conditions and the shapes of arguments. `into` has the same nodes as `n`.
std::optional<MoreTiles> for_any_tiles(const Program& n, const Program& more, std::int64_t by,
                                       const AffineExpr& beyond_n, Program into);

/// Extents over sizes of an argument, by axis; constants are not guarded.
using EdgesOf = std::map<BufferId, std::vector<AffineExpr>>;

/// What lies behind the extents of arguments is read as zero, and not stored. `multiples`: by buffer and axis, what
/// divides extents and therefore, with origins that are multiples, the ends of contiguous reads. Stores by instructions
/// stay as they are: their extents are limited where they are printed. Errors: an access that no guard makes right.
Result<Program> with_edges(Program program, const HardwareModel& model, const EdgesOf& edges,
                           const std::map<BufferId, std::vector<std::int64_t>>& multiples);

}  // namespace isamap
