// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/tile_renewals.h"

#include <algorithm>

namespace isamap {

TileRenewals::TileRenewals(const ResolvedNest& view, const TileCounts& counts, const NestFlow& flow,
                           const LoopTable& table)
    : view_(view), counts_(counts), flow_(flow), table_(table) {
  for (const TileFlow& f : flow.flows) {
    // Parents serve all instances: their traffic is scaled by the ratio of all instances to the first.
    const int above = f.parent < 0 ? 0 : flow.flows[static_cast<std::size_t>(f.parent)].loops;
    const double all = counts.moved(f.access, f.loops, {above, false}, f.slide);
    const double one = counts.moved(f.access, f.loops, {above, true}, f.slide);
    spread_.push_back(one > 0 ? all / one : 1);
  }
}

bool TileRenewals::renewed(std::size_t f, std::size_t w, const Extents& extents) const {
  const TileFlow& flow = flow_.flows[f];
  if (static_cast<int>(w) >= flow.place) return false;
  const auto a = static_cast<std::size_t>(flow.access);
  if (table_.loops[w].used[a]) return true;
  tile_ = extents;
  for (std::size_t inner = w + 1; inner < static_cast<std::size_t>(flow.place); ++inner) {
    const LoopTable::Entry& e = table_.loops[inner];
    std::int64_t& extent = tile_[static_cast<std::size_t>(e.dim)];
    if (e.time && e.used[a] && extent > e.tile) return true;
    extent = std::min(extent, e.tile);
  }
  return false;
}

int TileRenewals::slides(std::size_t f, std::size_t w, const Extents& inside) const {
  const TileFlow& flow = flow_.flows[f];
  if (!flow.slide || !table_.loops[w].used[static_cast<std::size_t>(flow.access)] ||
      !counts_.slides(flow.access, flow.loops, static_cast<int>(w)))
    return -1;
  tile_ = inside;
  for (std::size_t inner = w + 1; inner < static_cast<std::size_t>(flow.loops); ++inner) {
    const LoopTable::Entry& e = table_.loops[inner];
    std::int64_t& extent = tile_[static_cast<std::size_t>(e.dim)];
    if (e.time && e.used[static_cast<std::size_t>(flow.access)] && extent > e.tile) return -1;
    extent = std::min(extent, e.tile);
  }
  return static_cast<int>(w);
}

VisitMoved TileRenewals::moved(std::size_t f, const Extents& outside, std::size_t loop, WhichTile which,
                               int slid) const {
  const TileFlow& flow = flow_.flows[f];
  tile_ = outside;
  std::size_t innermost = table_.loops.size();  // advances from the tile before the last to the last
  for (std::size_t w = loop; w < static_cast<std::size_t>(flow.loops); ++w) {
    const LoopTable::Entry& e = table_.loops[w];
    std::int64_t& extent = tile_[static_cast<std::size_t>(e.dim)];
    const std::int64_t remainder = extent % e.tile;
    if (e.time && extent > e.tile && e.used[static_cast<std::size_t>(flow.access)]) innermost = w;
    extent = which != WhichTile::first && e.time && remainder > 0 ? remainder : std::min(extent, e.tile);
  }
  if (which == WhichTile::before_last && innermost < table_.loops.size()) {
    tile_ = outside;
    for (std::size_t w = loop; w < static_cast<std::size_t>(flow.loops); ++w) {
      const LoopTable::Entry& e = table_.loops[w];
      std::int64_t& extent = tile_[static_cast<std::size_t>(e.dim)];
      const std::int64_t remainder = extent % e.tile;
      extent = w != innermost && e.time && remainder > 0 ? remainder : std::min(extent, e.tile);
    }
  }
  TileCounts::Step step;
  if (slid >= 0) {
    step.dim = table_.loops[static_cast<std::size_t>(slid)].dim;
    step.shift = table_.loops[static_cast<std::size_t>(slid)].tile;
    step.before = view_.tiles(flow.loops)[static_cast<std::size_t>(step.dim)];
  }
  double elements = 1;
  for (const TileCounts::Group& group : counts_.groups(flow.access)) {
    group_.clear();
    bool moves = false;
    for (const int d : group.dims) {
      group_.push_back(tile_[static_cast<std::size_t>(d)]);
      moves = moves || d == step.dim;
    }
    elements *= counts_.footprint(group, group_, slid >= 0 && moves ? &step : nullptr);
  }
  return {0, elements * spread_[f], elements};
}

}  // namespace isamap
