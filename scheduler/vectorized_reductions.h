// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search over vectorized reductions (include/isamap/kernel.h): where the inputs are contiguous along the reduction
// only, SIMD lanes each sum a part, and a horizontal sum combines them.

#include "isamap/scheduler.h"

namespace isamap {

/// A schedule, and the mappings of the vectorized kernel.
struct LaneSearch {
  Scheduled scheduled;
  std::optional<MapResult> mapped;  ///< nothing: the kernel was not vectorized
};

/// Candidates for vectorized reductions on this machine.
std::vector<VectorizedReduction> lanes_worth_trying(const Kernel& kernel, const HardwareModel& model);

/// The cheaper of the best schedules of the kernel and of its vectorized form. `map`: the options of `mappings`; with a
/// chosen instruction nothing is vectorized.
Result<LaneSearch> schedule_or_in_lanes(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                                        const ScheduleOptions& options, const MapOptions& map, bool* proved = nullptr);

}  // namespace isamap
