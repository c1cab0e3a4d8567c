// SPDX-License-Identifier: Apache-2.0
#pragma once
// The search, also of reductions in lanes (include/isamap/kernel.h): where inputs are contiguous along a sum and along
// nothing else, lanes of an instruction fit along the sum, and another instruction of the machine adds the lanes up.

#include "isamap/scheduler.h"

namespace isamap {

/// What the mapper found of the kernel in lanes, beside a schedule of it.
struct LaneSearch {
  Scheduled scheduled;
  std::optional<MapResult> mapped;  ///< nothing: the schedule is of the kernel as it is
};

/// Reductions that lanes of this machine could share.
std::vector<VectorizedReduction> lanes_worth_trying(const Kernel& kernel, const HardwareModel& model);

/// The cheaper of the best schedule of the kernel and the best of it in lanes. `map` is what `mappings` was made with:
/// where it names an instruction, lanes are left alone.
Result<LaneSearch> schedule_or_in_lanes(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                                        const ScheduleOptions& options, const MapOptions& map, bool* proved = nullptr);

}  // namespace isamap
