// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements that run strip by strip.
//
// The grids of a kernel's statements run one after another, and an intermediate tensor is written as a whole before it
// is read. Where each of some statements has a parallel axis of the same extent, and every tensor that one of them
// writes and another reads has it at one subscript that is that axis alone, row r of the readers needs row r of the
// writers only. Then the rows may be cut into strips, and all the statements computed for one strip after the other:
// for every cut, since a strip of rows is a kernel with fewer rows. A strip of the intermediates stays in a cache.

#include <set>

#include "isamap/symbolic_program.h"

namespace isamap {

constexpr std::int64_t strip_bytes = 16384;    ///< about so many bytes of what statements pass on are a strip
constexpr std::int64_t fewest_strip_rows = 4;  ///< of a part of a tile: so many sums at once hide latencies

struct StripGroup {
  std::size_t first = 0, count = 1;             ///< statements; one alone has no strips
  std::vector<int> axes = {};                   ///< by statement of the group: the axis of its grid that is cut
  AffineExpr extent = {};                       ///< of the axes
  std::map<TensorId, std::size_t> passed = {};  ///< between statements of the group: which of its axes is cut
  std::set<TensorId> local = {};                ///< of these, those that need memory for one strip only
  std::int64_t tile = 1;                        ///< strips are multiples of it
  std::int64_t part = 1;   ///< or of halves of it that are multiples of this, where a tile exceeds the nearest cache
  std::int64_t least = 1;  ///< rows of a strip, so that tensors without rows are not read too often
};

/// The statements of a version in order: `grids` are those of its statements.
std::vector<StripGroup> strip_groups(const SymbolicKernel& kernel, const std::vector<const Grid*>& grids);

/// Threads that the strips of these statements are distributed over; 1: all on the calling thread.
std::int64_t threads_of_strips(const StripGroup& group, const std::vector<const Grid*>& grids);

/// Rows of a strip at these sizes, as the entry of the program computes them.
std::int64_t strip_rows(const StripGroup& group, const SymbolicKernel& kernel, const Bindings& sizes);

}  // namespace isamap
