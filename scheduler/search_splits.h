// SPDX-License-Identifier: Apache-2.0
#pragma once
// The search, also of statements in two (mapper/mapped_splits.h): max(X + Z, 0) on a machine that adds and clamps in
// two instructions. The part between the two is an intermediate tensor, whose tiles may stay in registers
// (scheduler/fuse_statements.h).

#include "scheduler/vectorized_reductions.h"

namespace isamap {

/// The cheapest of what schedule_or_in_lanes finds of the kernel, and of the kernel with statements that nothing
/// computes in parts that instructions do. `map` is what `mappings` was made with: where it names an instruction,
/// statements are left alone.
Result<LaneSearch> schedule_or_split(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                                     const ScheduleOptions& options, const MapOptions& map, bool* proved = nullptr);

}  // namespace isamap
