// SPDX-License-Identifier: Apache-2.0
#pragma once
// A machine in one line: for lists of targets.

#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// What it computes, one word for each entry of the file that has a computation: "fma_*, add_f32 mul_f32".
std::vector<std::string> instruction_families(const HardwareModel& model);

/// "emulator X; a record of machine Y": what the file states that it was compared with, or "not stated".
std::string verified_against(const HardwareModel& model);

/// Lines of a hardware file that say something: neither empty nor a comment. Base files are not counted.
int lines_of_yaml(const std::string& file);

}  // namespace isamap
