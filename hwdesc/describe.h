// SPDX-License-Identifier: Apache-2.0
#pragma once
// A machine to look at: tables in text, its graph of memories and links as a picture.

#include <string>

#include "hwdesc/hardware_model.h"

namespace isamap {

std::string describe(const HardwareModel& model);  ///< what `hw show` prints
std::string graphviz(const HardwareModel& model);  ///< `hw graph --format dot`
std::string svg(const HardwareModel& model);       ///< `hw graph --format svg`

}  // namespace isamap
