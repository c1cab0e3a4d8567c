// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HTML report of `extract`: one file that needs nothing else.

#include <string>

#include "cli/layers.h"

namespace isamap::cli {

std::string html_report(const Extraction& extraction, const HardwareModel& model);

}  // namespace isamap::cli
