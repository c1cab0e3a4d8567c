// SPDX-License-Identifier: Apache-2.0
#pragma once
// The printed line of one command: its text and, as a comment, its encoding if the instruction has one.

#include <functional>
#include <string>

#include "backends/encoding/word.h"
#include "isamap/hardware.h"
#include "isamap/result.h"

namespace isamap {

/// `spelling`: register name ("v3"); empty: its number. `value_of` evaluates all other references.
Result<std::string> command_text(const Instruction& instruction, const HardwareModel& model, const ValueOf& value_of,
                                 const std::function<std::string(const Reference&)>& spelling);

}  // namespace isamap
