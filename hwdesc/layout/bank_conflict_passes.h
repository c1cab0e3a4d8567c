// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bank conflicts of a program: the passes in which banks serve the calls whose instances supply addresses.
//
// The addresses of a call follow from its offsets, so this is known before the program runs. It equals the count of the
// emulation (backends/cuda/emulation/passes.h): instances are served together while their accesses fit into banks *
// bank_width bytes, in as many passes as there are different words in one bank.

#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

struct CallPasses {
  InstructionId instruction;
  BufferId buffer;
  bool written = false;
  std::int64_t passes = 0;  ///< of one call: the most over all iterations
  std::int64_t least = 0;   ///< with the best layout of its rows
};

/// The worst call for each instruction and buffer, in program order. Without calls in which all instances have one
/// address, and without those with too many positions to enumerate.
std::vector<CallPasses> call_passes(const Program& program, const HardwareModel& model);

}  // namespace isamap
