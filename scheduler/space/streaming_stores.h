// SPDX-License-Identifier: Apache-2.0
#pragma once
// Non-temporal (streaming) stores: they avoid write-allocate reads of results larger than the caches.

#include <string>
#include <vector>

#include "scheduler/space/cpu_nest.h"

namespace isamap {

/// Can the output of a statement use streaming stores? Its tensors exceed the caches of a core, those of an output that
/// another part of a model reads next (Tensor::output) every cache: otherwise consumers would hit them there. No
/// statement reads the output, its rows are whole lines, and the machine has a store over a link that bypasses the
/// caches, completed by a fence.
bool can_stream_stores(const Kernel& kernel, StatementId statement, const HardwareModel& model);

/// Streaming-store instructions for tiles in these registers; empty: none, or not applicable.
std::vector<std::string> streaming_store_moves(const Kernel& kernel, StatementId statement, const HardwareModel& model,
                                               MemoryId registers);
/// The same for this template; empty: the output is packed or not in registers, its reduction is split or starts from
/// memory, or no instruction fits.
std::vector<std::string> streaming_store_for(const CpuTemplate& form);

}  // namespace isamap
