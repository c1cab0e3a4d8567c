// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HTML report of `extract`: one file that needs nothing else.

#include <string>

#include "driver/extract_layers.h"

namespace isamap {

std::string html_report(const Extraction& extraction, const HardwareModel& model);

}  // namespace isamap
