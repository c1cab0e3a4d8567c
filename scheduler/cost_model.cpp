// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost_model.h"

namespace isamap {

Cost sum_of(const std::vector<Cost>& costs) {
  if (costs.size() == 1) return costs.front();
  Cost sum;
  double longest = -1;  // the statement that takes most of the time says what bounds it
  for (const Cost& cost : costs) {
    if (cost.cycles > longest) longest = cost.cycles, sum.bound = cost.bound;
    sum.cycles += cost.cycles;
    sum.scalar_cycles += cost.scalar_cycles;
    sum.energy_pJ += cost.energy_pJ;
    sum.bytes += cost.bytes;
    for (const auto& [link, moved] : cost.link_bytes) sum.link_bytes[link] += moved;
  }
  return sum;
}

}  // namespace isamap
