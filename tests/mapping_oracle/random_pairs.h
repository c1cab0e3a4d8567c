// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random small kernels and instructions, as the compiler has them and as the oracle has them.

#include <optional>

#include "isamap/instruction.h"
#include "isamap/interpret.h"
#include "isamap/kernel.h"
#include "isamap/mapper.h"
#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

struct Pair {
  Kernel kernel;
  Instruction instruction;
  Nest statement, unit;
  bool box_domain = true, projection = true;
  std::string text;  ///< both statements with sizes
};

struct PairLimits {
  int kernel_dims = 5, unit_dims = 4;
  Int smallest = 2, largest = 4;     ///< extents
  bool cuts = true, windows = true;  ///< cut domains; instructions whose indices add dims
  Int kernel_extent = 0;             ///< not 0: of every dim of the kernel
  bool wide = false;                 ///< three dims in an index, factors to 3, dims of an instruction on one operand
};

/// Kernels: each operand uses a random set of the dims, one dim an index or two in one index (strides, dilations and
/// signs -2..2, offsets so that no index is negative). Instructions: each dim on a random set of operands.
Pair random_pair(Random& random, const PairLimits& limits);

/// What the mapper lists for the pair.
PairMappings mapped(const Pair& pair, Rule rule);

}  // namespace isamap::oracle
