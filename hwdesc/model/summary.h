// SPDX-License-Identifier: Apache-2.0
#pragma once
// One-line summary of a machine, for lists of targets.

#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// Its compute instructions, one word for each entry of the file: "fma_*, add_f32 mul_f32".
std::vector<std::string> instruction_families(const HardwareModel& model);

/// "emulator X; a record of machine Y": the stated references of its verification, or "not stated".
std::string verified_against(const HardwareModel& model);

/// Lines of a hardware file that are neither empty nor comments. Base files are not counted.
int lines_of_yaml(const std::string& file);

}  // namespace isamap
