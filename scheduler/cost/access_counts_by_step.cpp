// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/access_counts_by_step.h"

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {

VisitCounts::VisitCounts(const ResolvedNest& view, const LoopTable& table, const TileCounts& counts,
                         const VisitedTile& tile)
    : table_(table),
      counts_(counts),
      access_(tile.access),
      loops_(tile.loops),
      parent_loops_(tile.parent_loops),
      block_(tile.block),
      slides_(static_cast<std::size_t>(tile.loops), 0),
      full_(view.tiles(tile.loops)),
      chain_(full_.size()),
      dims_(full_.size()) {
  for (int w = 0; w < loops_; ++w) {
    const LoopTable::Entry& e = table.loops[static_cast<std::size_t>(w)];
    chain_[static_cast<std::size_t>(e.dim)].push_back(w);
    slides_[static_cast<std::size_t>(w)] =
        tile.slide && e.time && e.used[static_cast<std::size_t>(access_)] && counts.slides(access_, loops_, w);
  }
}

/// Instances of one loop on a unit, in classes: those that also work in another step come first, since steps before the
/// last are full.
void VisitCounts::distribute(const Part& p, std::int64_t tile, bool once) const {
  const std::int64_t full = p.extent / tile, remainder = p.extent % tile;
  const std::int64_t full_other = p.other / tile, remainder_other = p.other % tile;
  const auto add = [&](std::int64_t begin, std::int64_t end, std::int64_t extent, std::int64_t other) {
    if (begin >= end || extent <= 0) return;
    const auto count = static_cast<double>(end - begin);
    keep({extent, other, p.own * count, p.shared * (once ? (begin == 0 ? 1 : 0) : count)});
  };
  add(0, full_other, tile, tile);
  if (full_other < full) {
    add(full_other, full_other + 1, tile, remainder_other);
    add(full_other + 1, full, tile, 0);
    add(full, full + 1, remainder, 0);
  } else {
    add(full, full + 1, remainder, remainder_other);
  }
}

void VisitCounts::keep(const Part& part) const {
  for (Part& known : next_)
    if (known.extent == part.extent && known.other == part.other) {
      known.own += part.own;
      known.shared += part.shared;
      return;
    }
  next_.push_back(part);
}

void VisitCounts::divide(int dim, const LoopPosition& position, int advanced, DimParts& out) const {
  const std::int64_t whole = table_.extents[static_cast<std::size_t>(dim)];
  out.parts.assign(1, {whole, 0, 1, 1});
  out.lane = whole;
  out.lane_single = true;
  for (const int w : chain_[static_cast<std::size_t>(dim)]) {
    const LoopTable::Entry& e = table_.loops[static_cast<std::size_t>(w)];
    next_.clear();
    const bool here = e.time && w < block_;
    const std::int64_t begin = here ? position.at(w) * e.tile : 0;
    const bool inner = here && advanced >= 0 && w > advanced;  // at its first step
    if (inner) out.lane_single = out.lane_single && out.lane <= e.tile;
    out.lane = std::min(e.tile, out.lane - begin);
    for (const Part& p : out.parts) {
      if (here) {
        const std::int64_t next_step = inner ? std::min(e.tile, p.extent - e.tile) : 0;
        const std::int64_t extent = std::min(e.tile, p.extent - begin);
        if (extent > 0)
          keep({extent, std::max({std::int64_t{0}, next_step, std::min(e.tile, p.other)}), p.own, p.shared});
      } else {
        distribute(p, e.tile, !e.time && w >= parent_loops_);
      }
    }
    out.parts.swap(next_);
  }
}

double VisitCounts::sum(const TileCounts::Group& group, bool single_only, const TileCounts::Step* step) const {
  const auto counted = [&](const Part& p) { return !single_only || p.other == 0; };
  if (!step && group.linear && group.axes.size() == 1 && group.dims.size() == 1) {
    const double stride = static_cast<double>(group.axes.front().terms.front().coefficient);
    double total = 0;
    for (const Part& p : dims_[static_cast<std::size_t>(group.dims.front())].parts)
      if (counted(p)) total += p.own * (1 + stride * static_cast<double>(p.extent - 1));
    return total;
  }
  std::vector<std::size_t> at(group.dims.size(), 0);
  extents_.resize(group.dims.size());
  double total = 0;
  while (true) {
    double count = 1;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::vector<Part>& parts = dims_[static_cast<std::size_t>(group.dims[i])].parts;
      if (parts.empty()) return 0;
      extents_[i] = parts[at[i]].extent;
      count *= counted(parts[at[i]]) ? parts[at[i]].own : 0;
    }
    if (count > 0) total += count * counts_.footprint(group, extents_, step);
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == dims_[static_cast<std::size_t>(group.dims[i])].parts.size()) at[i++] = 0;
    if (i == at.size()) return total;
  }
}

double VisitCounts::lane(const TileCounts::Group& group, const TileCounts::Step* step) const {
  extents_.resize(group.dims.size());
  for (std::size_t i = 0; i < group.dims.size(); ++i) extents_[i] = dims_[static_cast<std::size_t>(group.dims[i])].lane;
  return counts_.footprint(group, extents_, step);
}

VisitMoved VisitCounts::at(const LoopPosition& position, int advanced) const {
  for (std::size_t d = 0; d < dims_.size(); ++d) divide(static_cast<int>(d), position, advanced, dims_[d]);
  const bool used = advanced >= 0 && counts_.uses_loop(access_, advanced);
  const bool slide = used && slides_[static_cast<std::size_t>(advanced)] != 0;
  TileCounts::Step step;
  if (slide) {
    step.dim = table_.loops[static_cast<std::size_t>(advanced)].dim;
    step.shift = table_.loops[static_cast<std::size_t>(advanced)].tile;
    step.before = full_[static_cast<std::size_t>(step.dim)];
  }
  double own = 1, shared = 1, all = 1, stays = advanced >= 0 && (!used || slide) ? 1 : 0;
  double whole_lane = 1, new_lane = 1;
  bool lane_single = true;
  for (std::size_t d = 0; d < dims_.size(); ++d) {
    if (counts_.uses_dim(access_, static_cast<int>(d))) {
      lane_single = lane_single && dims_[d].lane_single;
      continue;
    }
    double mine = 0, once = 0;
    for (const Part& p : dims_[d].parts) {
      mine += p.own;
      once += p.shared;
    }
    own *= mine;
    shared *= once;
  }
  for (const TileCounts::Group& group : counts_.groups(access_)) {
    all *= sum(group, false, nullptr);
    whole_lane *= lane(group, nullptr);
    const bool moves = slide && std::find(group.dims.begin(), group.dims.end(), step.dim) != group.dims.end();
    new_lane *= moves ? lane(group, &step) : lane(group, nullptr);
    if (stays > 0) stays *= sum(group, true, nullptr) - (moves ? sum(group, true, &step) : 0);
  }
  return {own * (all - stays), shared * (all - stays), slide && lane_single ? new_lane : whole_lane};
}

}  // namespace isamap
