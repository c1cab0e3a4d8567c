// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/l2_reuse.h"

#include <algorithm>
#include <cmath>

#include "scheduler/nest/instruction_timing.h"

namespace isamap {

SharedCache shared_cache(const HardwareModel& model, MemoryId to, UnitId block) {
  SharedCache cache;
  for (const LinkId link : links_between(model, model.home(), to))
    for (const MemoryId by : model.link(link).via)
      cache.capacity = std::max(cache.capacity, static_cast<double>(model.memory(by).capacity));
  const UnitId around = model.unit(block).parent;
  if (around.valid()) cache.processors = static_cast<double>(model.instances(around));
  return cache;
}

double fetched_bytes(const std::vector<BlockLoop>& loops, const std::vector<BlockInput>& inputs,
                     const SharedCache& cache) {
  std::vector<double> distinct, times(inputs.size(), 1);  // of the loops so far, from the inside
  for (const BlockInput& input : inputs) distinct.push_back(std::min(input.tile, input.all));
  double inside = 1;  // blocks in one step
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    double step = 0;
    for (const double bytes : distinct) step += bytes;
    const double side_by_side = std::max(1.0, cache.processors / inside);
    for (std::size_t a = 0; a < inputs.size(); ++a) {
      if (loop->used[a])
        distinct[a] = std::min(distinct[a] * loop->trip, inputs[a].all);
      else if (step > cache.capacity)
        times[a] *= std::max(1.0, std::ceil(loop->trip / side_by_side));
    }
    inside *= loop->trip;
  }
  double bytes = 0;
  for (std::size_t a = 0; a < inputs.size(); ++a) bytes += distinct[a] * times[a];
  return bytes;
}

std::vector<BlockLoop> grouped(const BlockLoop& rows, const BlockLoop& columns, double group) {
  if (group <= 1) return {rows, columns};
  return {{rows.trip / group, rows.used}, columns, {group, rows.used}};
}

}  // namespace isamap
