// SPDX-License-Identifier: Apache-2.0
#include "isamap/cost_model.h"

namespace isamap {

Cost sum_of(const std::vector<Cost>& costs) {
  if (costs.size() == 1) return costs.front();
  Cost sum;
  double longest = -1;  // the slowest statement names the bound
  for (const Cost& cost : costs) {
    if (cost.cycles > longest) {
      longest = cost.cycles;
      sum.bound = cost.bound;
      sum.bound_by_calls = cost.bound_by_calls;
    }
    sum.cycles += cost.cycles;
    sum.scalar_cycles += cost.scalar_cycles;
    sum.launch_cycles += cost.launch_cycles;
    sum.energy_pJ += cost.energy_pJ;
    sum.bytes += cost.bytes;
    for (const auto& [link, moved] : cost.link_bytes) sum.link_bytes[link] += moved;
  }
  return sum;
}

Cost repeated(Cost once, std::int64_t times) {
  const auto n = static_cast<double>(times);
  once.cycles *= n;
  once.scalar_cycles *= n;
  once.launch_cycles *= n;
  once.energy_pJ *= n;
  once.bytes *= n;
  for (auto& [link, bytes] : once.link_bytes) bytes *= n;
  for (auto& [memory, tensors] : once.memories)
    for (auto& [tensor, traffic] : tensors) {
      traffic.reads *= times;
      traffic.fills *= times;
      traffic.updates *= times;
    }
  return once;
}

std::string_view name(Objective objective) {
  switch (objective) {
    case Objective::cycles:
      return "cycles";
    case Objective::energy:
      return "energy";
    case Objective::edp:
      return "edp";
  }
  return "";
}

}  // namespace isamap
