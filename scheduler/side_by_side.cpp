// SPDX-License-Identifier: Apache-2.0
#include "scheduler/side_by_side.h"

#include <memory>
#include <utility>

#include "isamap/search.h"

namespace isamap {

bool may_run_side_by_side(const ScheduleOptions& options) {
  return options.max_seconds <= 0 && !options.watch && !options.executor && !options.user_strategy &&
         !is_user_strategy(options.strategy);
}

CostModelFactory one_at_a_time(const CostModelFactory& costs, std::mutex& lock) {
  return CostModelFactory{[&costs, &lock](const SearchSpace& space) -> std::unique_ptr<CostModel> {
                            const std::lock_guard held(lock);
                            auto made = costs(space);
                            return made ? std::move(*made) : nullptr;
                          },
                          [&costs, &lock] {
                            const std::lock_guard held(lock);
                            return costs.problems();
                          }};
}

SearchProgress one_at_a_time(const SearchProgress& progress, std::mutex& lock, std::atomic<bool>& stopped) {
  return [&progress, &lock, &stopped](std::int64_t evaluations, double best) {
    const std::lock_guard held(lock);
    if (!stopped && progress && !progress(evaluations, best)) stopped = true;
    return !stopped;
  };
}

}  // namespace isamap
