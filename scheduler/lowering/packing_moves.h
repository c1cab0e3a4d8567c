// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves within one memory that lay packed copies out: rows become columns, or the parts of words. Found by meaning, as
// all moves are; a copy that none of them takes is made element by element.

#include <optional>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

struct PackingMove {
  InstructionId move;
  double cycles = 0;  ///< of one element
};

/// A copy of a tensor in the memory where it lies, as the digits say.
struct PackedCopy {
  const IterationDomain* domain = nullptr;  ///< of the statement
  const Access* access = nullptr;
  const Tensor* tensor = nullptr;
  const std::vector<LayoutDigit>* layout = nullptr;
  std::vector<std::int64_t> tile;  ///< elements along each dim that one copy holds
  MemoryId memory;
  bool is_input = true;  ///< else it is an output, carried back
};

/// The move that takes least time for an element; nothing: no move of the machine has both operands in this memory,
/// or none lies as the copy and the tensor do. The tensor is taken to be dense.
std::optional<PackingMove> packing_move(const PackedCopy& copy, const HardwareModel& model);

}  // namespace isamap
