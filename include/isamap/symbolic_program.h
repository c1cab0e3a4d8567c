// SPDX-License-Identifier: Apache-2.0
#pragma once
// One compiled program for every number of rows.
//
// A kernel whose symbolic dim is the outermost axis of every tensor that has it computes each row by itself, and the
// distance of two rows in memory is a number. So a program for `rows` rows is right for every block of so many rows, at
// a shifted address; and a loop of it that walks all rows, a tile a step, is right for any number of steps
// (program/row_loops.h). A version is a list of such parts, those for many rows first: each takes as many rows as it
// can, and the last ones exactly the rows that are left. Tiles stay constants, no padding is computed.

#include <map>
#include <string>
#include <vector>

#include "isamap/block_program.h"
#include "isamap/launch_program.h"
#include "isamap/program.h"
#include "isamap/symbolic.h"

namespace isamap {

/// Code for multiples of `rows` rows where it has loops over rows, else for exactly `rows`.
struct RowPart {
  Program program;
  std::int64_t rows = 1;
  std::map<std::string, std::int64_t> loops = {};  ///< rows of one step, by loop variable: its trip is rows / step
};

/// Parts by falling `rows`; those without loops and below the last one with loops are one for each rest.
struct RowVersion {
  std::vector<SizeFact> when;  ///< guard: all of them hold; none: every size
  std::vector<RowPart> parts;  ///< none: it has grids
  /// Tiles of the last part with loops and 1, 2, .. rows before them, in one pass over the tensors without rows
  /// (program/row_loops.h); by the number of these rows, for each that a tile leaves. None: a second pass.
  std::vector<RowPart> rest_first = {};
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
