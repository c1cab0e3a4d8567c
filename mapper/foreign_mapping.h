// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mappings that callers of the library pass: of this kernel and this machine?

#include <string>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"

namespace isamap {

/// Why the mapping is none of this kernel on this machine: "instruction fma_f32 has 3 operands, the mapping 4". Empty:
/// its numbers and names are of both. It may be another instruction with the same dims and operands, or a kernel of
/// other sizes: `prove` decides that.
std::string why_foreign(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model);

/// Throws InternalError for a foreign mapping.
void check_own(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model);

}  // namespace isamap
