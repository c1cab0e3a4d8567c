// SPDX-License-Identifier: Apache-2.0
#pragma once
// `isamap lab report STORE`: predicted versus measured cost of a recorded run.

#include "cli/options.h"

namespace isamap::cli {

Exit report_accuracy(const Options& options);

}  // namespace isamap::cli
