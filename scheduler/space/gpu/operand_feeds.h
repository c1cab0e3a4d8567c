// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operand feeds of thread blocks (points.cpp): layout of inputs in the scratchpad, moves into and out of it.

#include <optional>
#include <string>

#include "scheduler/nest/staged_tile.h"
#include "scheduler/space/space_template.h"

namespace isamap {

/// Units and memories of the thread-block template.
struct BlockMachine {
  UnitId block, part;
  MemoryId scratch, registers;
};

/// Nothing: the instruction is not executed by a part of a block, or its operands are elsewhere.
std::optional<BlockMachine> block_machine(const Instruction& instruction, const HardwareModel& model);

/// Feed of one input: its layout in the scratchpad and the moves into and out of it.
struct OperandFeed {
  std::vector<LayoutDigit> layout;
  bool padded = false;       ///< rows of its tile may be padded
  std::string copy, fetch;   ///< empty: derived; element by element if necessary
  std::string counted_copy;  ///< a copy of whole rows completed by a counter; empty: none
  std::string whole;         ///< dim of those rows if others follow in memory (a batch): its tiles must divide it
  bool read_from_scratchpad = false;  ///< operand of calls in the scratchpad
  std::optional<XorSwizzle> swizzle;
  std::string along;     ///< the contiguous fused dim of rows
  std::int64_t row = 1;  ///< elements of a row

  /// Row and column in the tile.
  struct Place {
    std::int64_t row = 0, column = 0;
  };
  std::vector<Place> concurrent_elements;  ///< for loads element by element: elements loaded concurrently
  std::int64_t copy_bytes = 0;             ///< aligned bytes that a copy writes at once; 0: elements
};

/// Elements that instances load concurrently for a fragment, element by element, contiguous along this index; empty: no
/// fragment of two indices.
std::vector<OperandFeed::Place> concurrent_elements(const Operand& operand, std::size_t contiguous);

/// The fused dim that is contiguous in the rows of the tensor: c of I[n,p,q,c], and r.s.c of I[n, p + r.s.c/(S*C), q +
/// r.s.c/C%S, r.s.c%C], a window whose reductions are one dim. Empty: none.
std::string along_rows(const Access& access, const Tensor& tensor);

/// The widest asynchronous copy whose alignment the rows of the tensor satisfy.
std::string widest_copy(const Access& access, const Tensor& tensor, const BlockMachine& machine,
                        const HardwareModel& model);

/// The copy of whole rows, swizzled like the feed, completed by a counter.
std::string counted_copy(const OperandFeed& feed, const Access& access, const Tensor& tensor,
                         const BlockMachine& machine, const HardwareModel& model);

/// The instruction that combines partial sums of blocks from registers: the fastest whose alignment the rows of the
/// output satisfy. Invalid: none.
InstructionId combine_of_blocks(const Computation& statement, const Instruction& instruction, const Tensor& output,
                                const BlockMachine& machine, const HardwareModel& model);

/// A load with per-lane addresses that distributes rows to a fragment, one per call.
std::string gathering_move(const Instruction& instruction, int access, std::size_t contiguous, const Tensor& tensor,
                           const BlockMachine& machine, const HardwareModel& model);

}  // namespace isamap
