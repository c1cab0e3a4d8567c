// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HTML reports of `coverage` and `hw diff`.

#include <string>

#include "cli/suite.h"

namespace isamap::cli {

std::string html_report(const Coverage& coverage);
std::string html_report(const Difference& difference);

}  // namespace isamap::cli
