// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages of a command stream above the loops that their tensors do not use.

#include "isamap/schedule.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// The nest with each stage where a resolved nest has it (StagedTile), which is where costs are counted:
///   for i by 16, stage B in spad, do ..  gives  stage B in spad, for i by 16, do ..  where B is B[k,j].
/// A nest with problems is returned as it is: lowering reports them.
Nest hoist_stages(const Nest& nest, const Kernel& kernel, StatementId statement, const HardwareModel& model);

}  // namespace isamap
