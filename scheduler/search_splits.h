// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search over splits of statements (mapper/advice/mapped_splits.h): max(X + Z, 0) on a machine that adds and clamps in
// two instructions. The intermediate tensor may stay in registers (scheduler/fuse_statements.h).

#include "scheduler/vectorized_reductions.h"

namespace isamap {

/// The cheapest schedule of the kernel (schedule_or_in_lanes), and of the kernel with unmapped statements split into
/// mapped ones. `map`: the options of `mappings`; with a chosen instruction nothing is split.
Result<LaneSearch> schedule_or_split(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                                     const ScheduleOptions& options, const MapOptions& map, bool* proved = nullptr);

}  // namespace isamap
