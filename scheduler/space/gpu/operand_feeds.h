// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the inputs of a nest in blocks come to its calls (gpu_points.cpp): in which order they lie in the scratchpad,
// and by which moves they get there and out of it.

#include <optional>
#include <string>

#include "scheduler/nest/staged_tile.h"
#include "scheduler/space/space_template.h"

namespace isamap {

/// The units and memories that the form speaks of.
struct BlockMachine {
  UnitId block, part;
  MemoryId scratch, registers;
};

/// Nothing: the instruction is of no part of a block, or its operands are elsewhere.
std::optional<BlockMachine> block_machine(const Instruction& instruction, const HardwareModel& model);

/// How an input comes to the calls: its order in the scratchpad and the moves into it and out of it.
struct OperandFeed {
  std::vector<LayoutDigit> layout;
  bool padded = false;       ///< rows of its tile may lie further apart than they are long
  std::string copy, fetch;   ///< empty: derived, element by element where it must be
  std::string counted;       ///< a copy of whole rows that a counter completes; empty: there is none
  std::string whole;         ///< the dim of those rows, where others follow behind its end (a batch): its tiles divide
  bool taken_there = false;  ///< calls take it from the scratchpad
  std::optional<XorSwizzle> swizzle;
  std::string along;     ///< rows: the fused dim whose neighbours lie together
  std::int64_t row = 1;  ///< and how many of them

  /// Row and column in the tile.
  struct Place {
    std::int64_t row = 0, column = 0;
  };
  std::vector<Place> asked_at_once;  ///< where instances fetch element by element: what they ask for together
  std::int64_t piece = 0;  ///< bytes that a copy writes at once, which begin at a multiple of that; 0: elements
};

/// What instances ask for at once that fetch a fragment element by element, neighbours being those along this index;
/// empty: it is no fragment of two indices.
std::vector<OperandFeed::Place> asked_at_once(const Operand& operand, std::size_t contiguous);

/// The fused dim whose neighbours are neighbours in the rows of the tensor, up to the end of a row: c of I[n,p,q,c],
/// and r.s.c of I[n, p + r.s.c/(S*C), q + r.s.c/C%S, r.s.c%C], a window whose reductions are one dim. Empty: there is
/// none.
std::string along_rows(const Access& access, const Tensor& tensor);

/// The widest asynchronous copy of neighbours for which rows of the tensor begin as it asks.
std::string widest_copy(const Access& access, const Tensor& tensor, const BlockMachine& machine,
                        const HardwareModel& model);

/// The copy of whole rows, permuted as the feed lies, that a counter completes.
std::string counted_copy(const OperandFeed& feed, const Access& access, const Tensor& tensor,
                         const BlockMachine& machine, const HardwareModel& model);

/// What adds up the parts of a sum that blocks have in the registers of an instruction: the fastest one for whose rows
/// the output's are aligned. Invalid: there is none.
InstructionId combine_of_blocks(const Computation& statement, const Instruction& instruction, const Tensor& output,
                                const BlockMachine& machine, const HardwareModel& model);

/// A move with addresses from every instance that puts such rows where the instruction wants them, a fragment a call.
std::string gathering_move(const Instruction& instruction, int access, std::size_t contiguous, const Tensor& tensor,
                           const BlockMachine& machine, const HardwareModel& model);

}  // namespace isamap
