// SPDX-License-Identifier: Apache-2.0
#pragma once
// Overhead of a mapping beyond the statement's own work, before any schedule: surplus points, and for each operand
// whether its tiles in the tensor have the instruction's layout or must be packed.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

struct OperandPrice {
  std::string operand, tensor;  ///< of the instruction; of the kernel ("1" for a constant)
  bool direct = false;          ///< each tile is a strided box of the tensor without a slot that needs a constant
  std::string why_packed;       ///< "k holds (q - s) and s"; empty when direct
  bool padded = false;          ///< packed only for its surplus slots, as sizes do not divide
  double bytes = 0;             ///< of all different tiles, slots times element size
  double extra_bytes = 0;       ///< bytes beyond one copy of the tensor; 0 when direct
};

struct Price {
  double calls = 0;
  double extra_points = 0;  ///< instruction points of all calls beyond the statement's points
  std::vector<OperandPrice> operands;
};

/// Sizes as given. Tiles are different when a loop or a tile counter between them moves the operand.
Price price_of(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping);
Price price_of(const Kernel& kernel, const Instruction& instruction, const Mapping& mapping);

/// Points of the instruction's domain by its interval; 1 cycle where the interval is not stated or depends on state.
double points_per_cycle(const Instruction& instruction);

}  // namespace isamap
