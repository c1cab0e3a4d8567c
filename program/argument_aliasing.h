// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a program may write one of its arguments into the storage of another that it reads.

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// Does the program read every element of `read` for the last time before, or in the same call as, it writes the
/// element of `written` at the same offset? Proved by its own accesses, in its order: loops are walked, calls that
/// touch neither buffer are not. Iterations of a loop over instances of a unit run in any order, so both must be in one
/// of them, or a loop over instances apart. False too where the answer is not known: offsets that depend on values,
/// several versions, stores that complete by a fence.
bool reads_before_overwriting(const Program& program, const HardwareModel& model, BufferId read, BufferId written);

}  // namespace isamap
