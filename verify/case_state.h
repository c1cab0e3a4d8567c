// SPDX-License-Identifier: Apache-2.0
#pragma once
// State that the program of one instruction needs and no setter can give.

#include "verify/instruction_cases.h"

namespace isamap {

/// Why the case's commands cannot be printed; empty: they can. Where only another computation of the same operands
/// leaves the state that the instruction needs (`sets`), that one is executed first; what it computes is overwritten.
std::string settle_state(InstructionCase& one, const HardwareModel& model);

}  // namespace isamap
