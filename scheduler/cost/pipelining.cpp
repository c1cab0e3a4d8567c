// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/pipelining.h"

#include <algorithm>

namespace isamap {

Pipelining pipelining_of(const TermContext& at, const BlockRefill& refill) {
  const StagedTile& s = *refill.stage;
  Pipelining found;
  found.role = !s.stage.role.empty();
  double times = 1;
  for (int w = 0; w + 1 < s.loops; ++w)
    if (!at.view.loops[static_cast<std::size_t>(w)].unit.valid()) times *= static_cast<double>(at.counts.trip(w));
  if (!found.role) found.restarts = std::min(times, refill.times);
  found.ahead = std::min<double>(s.stage.ahead, refill.times / found.restarts);
  return found;
}

}  // namespace isamap
