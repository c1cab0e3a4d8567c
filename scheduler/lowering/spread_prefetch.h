// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prefetch of the next tile of a tensor, spread over the passes over the tile in use:
//
//   for k by 48                     W, packed panel by panel, is read again in each step of q. The first pass over a
//   for q by 1                      panel is bound by the link into the cache, the others leave it idle. Here each
//   stage W in l2 ahead 1           pass prefetches another part of the next panel, some lines in each step of c.
//   ...
//   for c by 1

#include "scheduler/lowering/lower_nest_internal.h"

namespace isamap {

/// Of the stage at line `at`, for one access. Nothing: this is the last tile. Errors: no loop to count or to prefetch
/// in, tiles that are not contiguous, no move into the cache.
Result<std::optional<SpreadPrefetch>> spread_prefetch(const NestParts& parts, std::size_t at, int access,
                                                      const Scope& scope);

/// The prefetches in a step of the loop at `line`.
Nodes spread_prefetches_at(std::size_t line, const NestParts& parts, const Scope& scope);

}  // namespace isamap
