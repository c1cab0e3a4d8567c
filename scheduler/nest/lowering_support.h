// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which mappings lowering can turn into programs.

#include <string>

#include "isamap/hardware.h"
#include "isamap/mapping.h"

namespace isamap {

/// Why lowering does not support the mapping, "(q - s) is no plain dim"; empty: it does. Digits must be whole dims of
/// the statement.
std::string not_lowered(const Mapping& mapping, const HardwareModel& model);

/// The same of an instruction by itself: lowering places no waits for asynchronous ones, and in assembly has no
/// swizzled tiles.
std::string not_lowered(const Instruction& instruction, const HardwareModel& model);

/// A number rounded to the type of this access's operand: 0.03 in f32 is the nearest f32.
double round_to_operand(const Instruction& instruction, int access, double number);

}  // namespace isamap
