// SPDX-License-Identifier: Apache-2.0
#pragma once
// One search on all ranks. Every rank runs the same search, evaluates its share of each batch, and gets the costs of
// the others, so all take the same decisions and end with the same result, which is that of one process. What one rank
// knows and another does not (a clock, a signal, a database) must not reach the search.

#include "isamap/search.h"

namespace isamap::cli {

/// For ScheduleOptions::executor. Collective: every rank makes it and submits the same batches. Throws
/// std::runtime_error where the batches differ (a strategy of a user that is not deterministic).
ExecutorFactory executor_of_ranks();

}  // namespace isamap::cli
