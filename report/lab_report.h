// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HTML page of `isamap lab report`, and its tables as text and CSV.

#include <string>

#include "lab/statistics.h"

namespace isamap {

std::string lab_page(const lab::Trials& trials);
/// Gap to the optimum by strategy and number of evaluations, and expected running time to each gap.
std::vector<std::vector<std::string>> lab_summary(const lab::Trials& trials);
/// One row for each improvement: instance,strategy,seed,evaluations,objective,optimum,ratio
std::string lab_csv(const lab::Trials& trials);
/// One row for each trial of a run of a store; `features`: a column for each feature too.
Result<std::string> store_csv(const std::string& path, std::int64_t run, bool features);

}  // namespace isamap
