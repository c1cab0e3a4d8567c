// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ambiguous commands: two instructions that print the same line or encode to the same word and have different effects.
// A simulator, an assembler or the machine cannot distinguish them.

#include "isamap/hardware.h"

namespace isamap {

/// An error for each such pair, with both source locations and a line that both print. Found by testing: commands of
/// each instruction at the bounds of its ranges are decoded as every other one; where that succeeds both are executed
/// on the same bytes, which include signalling NaNs. Nothing for compiled languages.
Diagnostics ambiguous_commands(const HardwareModel& model);

}  // namespace isamap
