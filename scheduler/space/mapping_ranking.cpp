// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/mapping_ranking.h"

#include <algorithm>

#include "scheduler/space/register_tiling.h"

namespace isamap {

std::vector<std::size_t> ranked_mappings(const Computation& statement, const std::vector<Mapping>& mappings,
                                         const HardwareModel& model) {
  struct RankedMapping {
    std::size_t fused;
    double cycles;
    std::size_t mapping;
  };
  std::vector<RankedMapping> by_work;
  for (std::size_t m = 0; m < mappings.size(); ++m) {
    std::size_t fused = 0;
    for (const std::vector<Digit>& dim : mappings[m].dims) fused += std::max<std::size_t>(dim.size(), 1) - 1;
    by_work.push_back({fused, least_cycles(statement, mappings[m], model), m});
  }
  std::stable_sort(by_work.begin(), by_work.end(),
                   [](const RankedMapping& a, const RankedMapping& b) { return a.cycles < b.cycles; });
  std::vector<RankedMapping> by_fused = by_work;
  std::stable_sort(by_fused.begin(), by_fused.end(),
                   [](const RankedMapping& a, const RankedMapping& b) { return a.fused < b.fused; });
  std::vector<std::size_t> order;
  std::vector<bool> listed(by_work.size(), false);
  for (std::size_t i = 0; i < by_work.size(); ++i)
    for (const std::size_t m : {by_work[i].mapping, by_fused[i].mapping}) {
      if (!listed[m]) order.push_back(m);
      listed[m] = true;
    }
  return order;
}

std::size_t filled_dims(const Mapping& mapping) {
  return static_cast<std::size_t>(
      std::count_if(mapping.dims.begin(), mapping.dims.end(), [](const auto& digits) { return !digits.empty(); }));
}

}  // namespace isamap
