// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "isamap/hardware.h"

namespace isamap {

/// Names that the code of a machine's instructions uses: types of its registers and elements, and what `emit` calls.
/// A variable of one of these names would hide it.
std::set<std::string> words_of_machine(const HardwareModel& model);

}  // namespace isamap
