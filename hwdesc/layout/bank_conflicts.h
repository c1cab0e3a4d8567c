// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bank conflicts of an operand: the most words that one bank must serve at once.
//
// A memory of `banks` banks, each `bank_width` bytes wide, serves banks * bank_width bytes together when each bank
// supplies one word. The elements that an instruction accesses together are stated by its operand (`at_once: {i: 8, k:
// 8}`) or, where instances of a unit supply addresses, are those of as many instances as fill all banks.

#include <optional>
#include <vector>

#include "hwdesc/layout/move_layouts.h"

namespace isamap {

/// The largest number of different words in one bank, over all groups of bytes that are accessed together, divided by
/// that of the best layout. 1: no conflict.
std::int64_t conflict_degree(const Memory& memory, const std::vector<std::vector<std::int64_t>>& groups);

/// For a move with separately supplied addresses: the tile has rows of `row_bytes`, swizzled or not.
struct RowConflicts {
  std::int64_t row_bytes = 0;
  std::int64_t degree = 1;            ///< without a swizzle
  std::optional<XorSwizzle> swizzle;  ///< makes it 1; nothing: none needed or none found
};
std::vector<RowConflicts> row_conflicts(const HardwareModel& model, const Instruction& move, const MoveTable& table,
                                        const Filling& filling, std::size_t operand_indices);

/// For an operand in a banked memory with `at_once`: over all its tiles and all starts that its alignment allows.
/// Nothing: the memory has no banks, or the operand has no `at_once`.
struct OperandConflicts {
  std::int64_t degree = 1;
  std::int64_t starts = 1;       ///< tried
  std::int64_t free_stride = 0;  ///< bytes assumed for its free strides; 0: it has none
};
std::optional<OperandConflicts> operand_conflicts(const HardwareModel& model, const Instruction& instruction,
                                                  std::size_t operand);

}  // namespace isamap
