// SPDX-License-Identifier: Apache-2.0
#pragma once
// Searches that run side by side: factories and observers of users are called by one thread at a time.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "isamap/scheduler.h"

namespace isamap {

/// Do searches with these options find the same one after the other and side by side? Not where an observer wants the
/// trials in order, the clock decides, or the strategy is a user's.
bool may_run_side_by_side(const ScheduleOptions& options);

/// What is returned calls `costs` under the lock, which outlives it.
CostModelFactory one_at_a_time(const CostModelFactory& costs, std::mutex& lock);

using SearchProgress = std::function<bool(std::int64_t evaluations, double best)>;
/// What is returned calls `progress`, if there is one, under the lock; after its first false all searches end. Lock and
/// flag outlive it.
SearchProgress one_at_a_time(const SearchProgress& progress, std::mutex& lock, std::atomic<bool>& stopped);

}  // namespace isamap
