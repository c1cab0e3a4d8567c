// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packing moves: moves within one memory that write packed panels (transposes, interleaving of bytes into words), found
// by their semantics. A copy that fits none of them is packed element by element.

#include <optional>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

struct PackingMove {
  InstructionId move;
  double cycles = 0;     ///< per element
  std::int64_t run = 1;  ///< elements of one call that are contiguous in the tensor
};

/// A packed copy of a tensor in the same memory, with a layout of digits.
struct PackedCopy {
  const IterationDomain* domain = nullptr;  ///< of the statement
  const Access* access = nullptr;
  const Tensor* tensor = nullptr;
  const std::vector<LayoutDigit>* layout = nullptr;
  std::vector<std::int64_t> tile;  ///< elements of the copy along each dim
  MemoryId memory;
  bool is_input = true;  ///< else an output, unpacked into the tensor
};

/// The move with the fewest cycles per element; nothing: no move has both operands in this memory with the layouts of
/// the tensor and the copy, or a copy by elements takes less. The tensor is assumed dense.
std::optional<PackingMove> packing_move(const PackedCopy& copy, const HardwareModel& model);

}  // namespace isamap
