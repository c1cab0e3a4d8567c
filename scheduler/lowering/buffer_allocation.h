// SPDX-License-Identifier: Apache-2.0
#pragma once
// Places for buffers: byte addresses in memories, numbers in register files.

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// First fit in order of first use; buffers that are not alive together share, except registers that carry state and
/// would need another one while others of their file live. Whether everything fits is the verifier's question.
void allocate(Program& program, const HardwareModel& model);

}  // namespace isamap
