// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program for one instruction, built operand by operand, for instructions that no schedule isolates: scratchpad
// operands have the described layout and are written and read element by element; asynchronous instructions are waited
// for; registers without a move of the whole operand are moved by each instance. Instructions that complete by a
// counter, or with a host-described tensor, are called directly.

#include "isamap/program.h"
#include "verify/instruction_kernel.h"

namespace isamap {

struct IsolatedProgram {
  Kernel kernel;    ///< its semantics
  Program program;  ///< of that kernel
};

/// `number`: of this program among those to be joined; their loops have different variables.
Result<IsolatedProgram> isolated_program(const HardwareModel& model, InstructionId id, const RequestedCase& requested,
                                         std::int64_t vectors, int number);

}  // namespace isamap
