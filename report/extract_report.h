// SPDX-License-Identifier: Apache-2.0
#pragma once
// The self-contained HTML report of `extract`.

#include <string>

#include "driver/extract_layers.h"

namespace isamap {

std::string html_report(const Extraction& extraction, const HardwareModel& model);

}  // namespace isamap
