// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HTML reports of `coverage` and `hw diff`.

#include <string>

#include "driver/suite.h"

namespace isamap {

std::string html_report(const Coverage& coverage);
std::string html_report(const Difference& difference);

}  // namespace isamap
