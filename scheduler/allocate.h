#pragma once
// Places for buffers: byte addresses in memories, numbers in register files.

#include "hwdesc/hardware_model.h"
#include "ir/program.h"

namespace isamap {

/// First fit in order of first use; buffers that are not alive together share. Whether everything fits is the
/// verifier's question.
void allocate(Program& program, const HardwareModel& model);

}  // namespace isamap
