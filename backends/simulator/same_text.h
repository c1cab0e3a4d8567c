// SPDX-License-Identifier: Apache-2.0
#pragma once
// Commands of two instructions that are one line, or one word, and do different things: a simulator, an assembler or
// the machine cannot tell which was meant.

#include "isamap/hardware.h"

namespace isamap {

/// An error for each such pair, with both places and a line that both print. Found by trying: commands of each
/// instruction at the ends of its ranges are read as every other one, and where that succeeds both are executed on the
/// same bytes, among them NaNs that arithmetic would quiet. Nothing for languages whose text is compiled.
Diagnostics same_texts(const HardwareModel& model);

}  // namespace isamap
