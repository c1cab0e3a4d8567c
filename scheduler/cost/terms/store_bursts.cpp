// SPDX-License-Identifier: Apache-2.0
// Stores of an accumulator tile that come in a burst: lines beyond the miss buffers of the nearest cache that loads
// leave drain while nothing is computed. The longer computing takes than moving, the more of them drain before the next
// burst: with p = overlap_exponent, as core and caches overlap (contention.cpp)
//
//   max(0, 1 - misses x (1 - load_buffers) / lines of a tile) x min(storing, computing) x min(1, moving / computing)^p

#include <algorithm>
#include <cmath>

#include "scheduler/cost/term.h"
#include "scheduler/cost/tile_uses.h"

namespace isamap {

namespace {

/// The nearest cache that states its miss buffers.
const Memory* nearest_with_misses(const HardwareModel& model) {
  const Memory* nearest = nullptr;
  for (const Memory& m : model.memories())
    if (m.kind == MemoryKind::cache && m.misses > 0 && (nearest == nullptr || m.capacity < nearest->capacity))
      nearest = &m;
  return nearest;
}

/// Cycles of the output on the busiest of the caches' links and of those that bypass them.
double storing(const TermContext& at, int stage) {
  const ResolvedNest& view = at.view;
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  double most = 0;
  for (const auto& [id, cache] : at.traffic.caches)
    if (cache.bandwidth > 0) most = std::max(most, cache.of_output / cache.bandwidth / cache.instances);
  for (const LinkId id : links_of(view, stage, s.memory, view.memory_of(s.parent))) {
    const Link& link = view.model->link(id);
    const auto moved = at.traffic.link_loads.find(id);
    if (link.via.empty() && link.bandwidth > 0 && moved != at.traffic.link_loads.end())
      most = std::max(most, moved->second / link.bandwidth);
  }
  return most;
}

void store_burst_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  const int stage = view.innermost[0];
  if (stage < 0 || !view.model->memory(view.memory_of(stage)).is_register()) return;
  const Memory* nearest = nearest_with_misses(*view.model);
  if (nearest == nullptr || nearest->line < 1) return;
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  const double size = bytes(view.kernel->tensors[view.statement.write.tensor.index()].dtype);
  const double lines = at.counts.tile(0, s.loops) * size / static_cast<double>(nearest->line);
  const double exposed = 1 - static_cast<double>(nearest->misses) * (1 - at.timing.load_buffers) / lines;
  if (exposed <= 0) return;
  const double computing = at.bounds.front().cycles;
  double moving = 0;
  for (const TermTime& b : at.bounds)
    if (b.bound_of == BoundOf::cache || b.bound_of == BoundOf::link) moving = std::max(moving, b.cycles);
  if (computing <= 0) return;
  const double not_hidden = std::pow(std::min(1.0, moving / computing), at.timing.overlap_exponent);
  times.push_back({"store bursts", "", exposed * std::min(storing(at, stage), computing) * not_hidden});
}

}  // namespace

namespace terms {

extern const Term store_bursts{"store bursts",
                               "share beyond miss buffers x min(storing, computing) x min(1, moving / computing)^p",
                               "memories.*.misses, line, timing.load_buffers, timing.overlap_exponent",
                               "miss buffers bound outstanding lines (Little's law); measured, docs/cost_measured.md",
                               Overlap::exposed,
                               false,
                               store_burst_times};

}  // namespace terms
}  // namespace isamap
