// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "isamap/hardware.h"

namespace isamap {

/// Names that the code of a machine's instructions uses: types of its registers and elements, what `emit` calls, and
/// macros of its own headers (`include`, `shim`) and flags. A variable of one of these names would hide it, or be
/// replaced.
std::set<std::string> words_of_machine(const HardwareModel& model);

}  // namespace isamap
