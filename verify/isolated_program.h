// SPDX-License-Identifier: Apache-2.0
#pragma once
// One instruction in a program that is put together operand by operand, for instructions that no nest of lines
// isolates: what they take from a scratchpad lies there as their description says, and is written and read element by
// element; what they complete later is awaited; registers that no move of the whole takes in or out are moved by each
// instance for itself. What completes by a counter, or takes a tensor that the host describes, is called directly.

#include "isamap/program.h"
#include "verify/instruction_kernel.h"

namespace isamap {

struct IsolatedProgram {
  Kernel kernel;    ///< what it computes
  Program program;  ///< of that kernel
};

/// `number`: of this program among those that will be joined; their loops have different variables.
Result<IsolatedProgram> isolated_program(const HardwareModel& model, InstructionId id, const RequestedCase& wanted,
                                         std::int64_t vectors, int number);

}  // namespace isamap
