// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores that leave no line in the caches: for results larger than these, which would first be read into them.

#include <string>
#include <vector>

#include "scheduler/space/cpu_nest.h"

namespace isamap {

/// Could the output of a statement be stored so? It and the inputs are larger than the caches of a core: what fits
/// there is found there by whoever reads it next. It is a result that no statement reads, whose rows are whole lines,
/// and the machine has a move out of registers over a link that no cache stands on, completed by a fence.
bool can_stream_stores(const Kernel& kernel, StatementId statement, const HardwareModel& model);

/// The moves that do it for tiles in these registers; empty: no such move, or it could not.
std::vector<std::string> streaming_store_moves(const Kernel& kernel, StatementId statement, const HardwareModel& model,
                                               MemoryId registers);
/// The same for tiles of this form; empty: its output is packed or lies in no registers, its sums are done
/// in parts or begin with what stands in memory, or no such move fits.
std::vector<std::string> streaming_store_for(const CpuTemplate& form);

}  // namespace isamap
