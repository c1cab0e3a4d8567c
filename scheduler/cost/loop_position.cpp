// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/loop_position.h"

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {

LoopTable::LoopTable(const ResolvedNest& view, const TileCounts& counts) {
  for (const Dim& d : view.statement.domain.dims) extents.push_back(d.extent);
  for (std::size_t w = 0; w < view.loops.size(); ++w) {
    Entry e;
    e.dim = view.loops[w].dim;
    e.time = !view.loops[w].unit.valid();
    e.tile = view.loops[w].tile;
    for (std::size_t outer = 0; outer < w; ++outer)
      if (loops[outer].dim == e.dim) e.before = static_cast<int>(outer);
    for (int a = 0; a < access_count(view.statement); ++a) e.used.push_back(counts.uses_dim(a, e.dim));
    loops.push_back(std::move(e));
  }
}

LoopPosition::LoopPosition(const LoopTable& table, int place)
    : table_(&table),
      place_(static_cast<std::size_t>(place)),
      at_(table.loops.size(), 0),
      steps_(table.loops.size(), 1),
      inside_(table.loops.size(), 0) {
  empty_ = std::any_of(table.extents.begin(), table.extents.end(), [](std::int64_t e) { return e <= 0; });
  if (!empty_) settle(0);
}

void LoopPosition::settle(std::size_t from) {
  for (std::size_t w = from; w < place_; ++w) {
    const LoopTable::Entry& e = table_->loops[w];
    const std::int64_t outside =
        e.before < 0 ? table_->extents[static_cast<std::size_t>(e.dim)] : inside_[static_cast<std::size_t>(e.before)];
    inside_[w] = std::min(e.tile, outside - at_[w] * e.tile);
    steps_[w] = e.time ? ceil_div(outside, e.tile) : 1;
  }
}

int LoopPosition::advance() {
  for (std::size_t w = place_; w-- > 0;) {
    if (at_[w] + 1 >= steps_[w]) {
      at_[w] = 0;
      continue;
    }
    ++at_[w];
    settle(w);
    return static_cast<int>(w);
  }
  return -1;
}

void LoopPosition::extents(std::vector<std::int64_t>& out) const {
  out = table_->extents;
  for (std::size_t w = 0; w < place_; ++w) out[static_cast<std::size_t>(table_->loops[w].dim)] = inside_[w];
}

bool LoopPosition::renewed(int access, int place, int loop) const {
  if (loop >= place) return false;
  const auto a = static_cast<std::size_t>(access);
  if (table_->loops[static_cast<std::size_t>(loop)].used[a]) return true;
  for (int w = loop + 1; w < place; ++w)  // another dim than the one that advanced: as many steps as before
    if (table_->loops[static_cast<std::size_t>(w)].used[a] && steps_[static_cast<std::size_t>(w)] > 1) return true;
  return false;
}

bool LoopPosition::first(int access, int place) const {
  for (int w = 0; w < place; ++w)
    if (!table_->loops[static_cast<std::size_t>(w)].used[static_cast<std::size_t>(access)] &&
        at_[static_cast<std::size_t>(w)] > 0)
      return false;
  return true;
}

}  // namespace isamap
