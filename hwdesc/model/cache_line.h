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

/// Bytes that a cache fetches together, at most: a line, with its neighbours where its file says so (`fetch`).
inline std::int64_t fetched_together(const HardwareModel& model) {
  std::int64_t most = cache_line(model);
  for (const Memory& m : model.memories())
    if (m.kind == MemoryKind::cache) most = std::max(most, m.fetch);
  return most;
}

}  // namespace isamap
