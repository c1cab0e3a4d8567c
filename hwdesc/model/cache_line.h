// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "isamap/hardware.h"

namespace isamap {

/// Bytes of the longest line of a cache; 0: there is no cache.
inline std::int64_t cache_line(const HardwareModel& model) {
  std::int64_t line = 0;
  for (const Memory& m : model.memories())
    if (m.kind == MemoryKind::cache) line = std::max(line, m.line);
  return line;
}

}  // namespace isamap
