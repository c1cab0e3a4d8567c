// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which mappings lowering can turn into programs.

#include <string>

#include "isamap/hardware.h"
#include "isamap/mapping.h"

namespace isamap {

/// Empty, or why not: "(q - s) combines dims". Lowering runs over whole dims of the statement and finds operands by
/// access.
std::string not_lowered(const Mapping& mapping, const HardwareModel& model);

/// The same of an instruction by itself: lowering places no waits for what completes later, and stores no tile
/// swizzled.
std::string not_lowered(const Instruction& instruction, const HardwareModel& model);

/// A number as the operand of this access holds it: 0.03 in an f32 is the f32 next to it.
double round_to_operand(const Instruction& instruction, int access, double number);

}  // namespace isamap
