// SPDX-License-Identifier: Apache-2.0
#pragma once
// State that the program of one instruction needs and no setter sets.

#include "verify/instruction_cases.h"

namespace isamap {

/// Why the case's commands cannot be printed; empty: they can. Where only another computation of the same operands sets
/// the needed state (`sets`), it is executed first; its result is overwritten.
std::string settle_state(InstructionCase& one, const HardwareModel& model);

}  // namespace isamap
