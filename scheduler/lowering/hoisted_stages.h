// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages above the loops that their tensors do not use: all of a command stream, copies in addressed memories
// elsewhere.

#include "isamap/schedule.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {

/// The nest with each stage where its costs are counted: of a command stream where a resolved nest has it (StagedTile),
/// elsewhere once for each tile:
///   for i by 16, stage B in spad, do ..  gives  stage B in spad, for i by 16, do ..  where B is B[k,j].
/// A nest with problems is returned as it is: lowering reports them.
Nest hoist_stages(const Nest& nest, const Kernel& kernel, StatementId statement, const HardwareModel& model);

}  // namespace isamap
