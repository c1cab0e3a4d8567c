// SPDX-License-Identifier: Apache-2.0
#pragma once
// Initial value of a call's updated operand: its old value (`keep`), or the reduction's identity (`zero`).

#include "isamap/instruction.h"

namespace isamap {

/// May a call of the instruction start its output this way? Without `start` it always keeps.
bool may_start(const Instruction& instruction, Start start);

/// Does every call overwrite its output although the statement reduces? Then one call must compute a whole sum.
bool always_overwrites(const Instruction& instruction);

}  // namespace isamap
