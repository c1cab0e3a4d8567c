// SPDX-License-Identifier: Apache-2.0
#pragma once
// Software prefetch in a nest: where its stages go.

#include <map>
#include <string>

#include "scheduler/space/cpu_nest.h"

namespace isamap {

using DimTiles = std::map<std::string, std::int64_t>;  ///< extent by dim

/// The lines end with the reduction loops; `tile_before`: tiles outside of these. Prefetches go right below the
/// innermost reduction loop where they pay off: windows are short loops inside it.
void add_prefetch_stages(const CpuTemplate& form, const DimTiles& tile_before, Nest& nest);

}  // namespace isamap
