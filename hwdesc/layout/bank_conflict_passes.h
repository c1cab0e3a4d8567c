// SPDX-License-Identifier: Apache-2.0
#pragma once
// In how many passes do the banks of a memory serve the calls of a program whose instances give addresses?
//
// The rows that a call touches follow from its offsets, so this is known before anything runs. It is the number that an
// emulation counts (backends/cuda/emulation/passes.h): instances are served together as long as banks * bank_width
// bytes hold what they ask for, in as many passes as there are different words in one bank.

#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

struct CallPasses {
  InstructionId instruction;
  BufferId buffer;
  bool written = false;
  std::int64_t passes = 0;  ///< of one call: the most, wherever its loops are
  std::int64_t least = 0;   ///< if its rows lay otherwise
};

/// The worst call for each instruction and buffer, in the order in which they first stand in the program. Left out are
/// calls that all instances make with one address, and those whose places are too many to be tried.
std::vector<CallPasses> call_passes(const Program& program, const HardwareModel& model);

}  // namespace isamap
