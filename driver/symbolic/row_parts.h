// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs of fixed numbers of rows, of which the program for any number of rows is put together
// (docs/dynamic_sizes.md): parts whose loops walk all rows with code for the remainders of their tiles, or blocks.

#include <cstdint>
#include <optional>
#include <vector>

#include "isamap/compile.h"

namespace isamap {

/// Rows of a block where no loop of a program walks all rows, the most first.
inline constexpr std::int64_t row_blocks[] = {64, 32, 16, 8};

/// Do the tensors without rows exceed the nearest cache, so that a second pass over them takes time?
bool passes_take_time(const SymbolicKernel& kernel, const Rows& rows, const HardwareModel& model);

class RowParts {
 public:
  RowParts(const SymbolicKernel& kernel, const HardwareModel& model, const CompileOptions& options, Rows rows)
      : kernel_(kernel), model_(model), options_(options), rows_(std::move(rows)) {}

  const Rows& rows() const { return rows_; }
  const HardwareModel& machine() const { return model_; }
  /// The kernel of so many rows.
  Kernel block(std::int64_t rows) const;
  /// Where parts would pack their constants in several ways, none packs them ahead of time.
  void pack_nothing() { packs_ = false; }
  bool packs() const { return packs_; }

  /// Predicted cycles of so many rows; nothing: the schedule is illegal there.
  std::optional<double> price(const Schedule& schedule, std::int64_t rows) const;
  /// Parts whose loops walk all rows, the largest and the smallest tile of the schedule, then one for each remainder.
  /// Empty: the schedule has no such loops, or leaves too many remainders.
  std::vector<RowPart> walking(const Schedule& schedule) const;
  /// The same by the schedule or, if it is searched, without its outermost prefetches: one that is spread over the
  /// steps of a loop over rows is other code for each number of steps. Blocks of many rows keep them where the model
  /// says so.
  std::vector<RowPart> walking_with_fewer_prefetches(Schedule& schedule) const;
  /// For each remainder of the smallest tile of `parts`, up to `most` rows, a program that begins with the remainder;
  /// empty: of some remainder there is none, or a second pass over what has no rows takes no time.
  std::vector<RowPart> remainders_first(const Schedule& schedule, const std::vector<RowPart>& parts,
                                        std::int64_t most) const;
  /// Whole programs of blocks, where no loop walks all rows: each statement of a block runs before the next block.
  /// Blocks of one row serve any number of them; larger ones are made where the model says that a row is cheaper there.
  /// It does not price the latency between statements, which several rows hide: several statements have all blocks.
  /// Blocks between the largest and the smallest are made where each pass takes time, and none of more rows than
  /// `most`. `schedule` becomes that of the largest block.
  std::vector<RowPart> blocks(Schedule& schedule, std::int64_t most) const;

 private:
  struct RowBlock;
  bool is_written() const { return options_.hand_written || !options_.versions.empty(); }
  std::optional<Program> lowered(const Schedule& schedule, std::int64_t rows) const;
  std::optional<RowPart> with_row_loops(const Schedule& schedule, std::int64_t tile) const;
  bool add_remainders(const Schedule& schedule, std::vector<RowPart>& parts) const;
  bool passes_cost() const { return passes_take_time(kernel_, rows_, model_); }
  Compilation searched(std::int64_t rows) const;
  std::optional<RowBlock> block_of(const Schedule& schedule, std::int64_t rows,
                                   const std::vector<RowBlock>& others) const;

  const SymbolicKernel& kernel_;
  const HardwareModel& model_;
  const CompileOptions& options_;
  Rows rows_;
  bool packs_ = true;
};

/// The longest of the shares of so many rows on threads, and cycles to start them; all rows where there is one.
struct LongestShare {
  std::int64_t rows = 0;
  double start = 0;
};
LongestShare longest_share(const RowVersion& version, std::int64_t rows);

/// Is a loop of several steps on this unit?
bool has_loops_on(const std::vector<Node>& nodes, const std::string& unit);

/// Do all of them pack the same constants in the same way ahead of time?
bool same_packing(const std::vector<RowPart>& parts, const std::vector<RowPart>& others);

}  // namespace isamap
