// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a call's updated operand may begin: from what stands there (`keep`), or from the reduction's identity (`zero`).

#include "isamap/instruction.h"

namespace isamap {

/// May a call of the instruction begin its output like this? Without a `start` it always keeps.
bool may_start(const Instruction& instruction, Start start);

/// Does every call write its output anew, though the statement adds up? Then a sum has to be complete in one call.
bool always_overwrites(const Instruction& instruction);

}  // namespace isamap
