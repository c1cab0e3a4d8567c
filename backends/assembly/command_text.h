// SPDX-License-Identifier: Apache-2.0
#pragma once
// The printed line of one command: its text, and behind the comment sign its word if the instruction has an encoding.

#include <functional>
#include <string>

#include "backends/encoding/word.h"
#include "isamap/hardware.h"
#include "isamap/result.h"

namespace isamap {

/// `spelling`: how a register is written ("v3"); empty: by its number. `value_of` knows everything else.
Result<std::string> command_text(const Instruction& instruction, const HardwareModel& model, const ValueOf& value_of,
                                 const std::function<std::string(const Reference&)>& spelling);

}  // namespace isamap
