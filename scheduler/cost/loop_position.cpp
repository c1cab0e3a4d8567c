// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/loop_position.h"

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {

WalkTable::WalkTable(const ResolvedNest& view, const TileCounts& counts) {
  for (const Dim& d : view.statement.domain.dims) extents.push_back(d.extent);
  for (std::size_t w = 0; w < view.walks.size(); ++w) {
    Entry e;
    e.dim = view.walks[w].dim;
    e.time = !view.walks[w].unit.valid();
    e.tile = view.walks[w].tile;
    for (std::size_t outer = 0; outer < w; ++outer)
      if (walks[outer].dim == e.dim) e.before = static_cast<int>(outer);
    for (int a = 0; a < access_count(view.statement); ++a) e.used.push_back(counts.uses_dim(a, e.dim));
    walks.push_back(std::move(e));
  }
}

WalkPosition::WalkPosition(const WalkTable& table, int place)
    : table_(&table),
      place_(static_cast<std::size_t>(place)),
      at_(table.walks.size(), 0),
      steps_(table.walks.size(), 1),
      inside_(table.walks.size(), 0) {
  empty_ = std::any_of(table.extents.begin(), table.extents.end(), [](std::int64_t e) { return e <= 0; });
  if (!empty_) settle(0);
}

void WalkPosition::settle(std::size_t from) {
  for (std::size_t w = from; w < place_; ++w) {
    const WalkTable::Entry& e = table_->walks[w];
    const std::int64_t outside =
        e.before < 0 ? table_->extents[static_cast<std::size_t>(e.dim)] : inside_[static_cast<std::size_t>(e.before)];
    inside_[w] = std::min(e.tile, outside - at_[w] * e.tile);
    steps_[w] = e.time ? ceil_div(outside, e.tile) : 1;
  }
}

int WalkPosition::advance() {
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

void WalkPosition::extents(std::vector<std::int64_t>& out) const {
  out = table_->extents;
  for (std::size_t w = 0; w < place_; ++w) out[static_cast<std::size_t>(table_->walks[w].dim)] = inside_[w];
}

bool WalkPosition::renewed(int access, int place, int walk) const {
  if (walk >= place) return false;
  const auto a = static_cast<std::size_t>(access);
  if (table_->walks[static_cast<std::size_t>(walk)].used[a]) return true;
  for (int w = walk + 1; w < place; ++w)  // its dim is not the one that advanced: as many steps as before
    if (table_->walks[static_cast<std::size_t>(w)].used[a] && steps_[static_cast<std::size_t>(w)] > 1) return true;
  return false;
}

bool WalkPosition::first(int access, int place) const {
  for (int w = 0; w < place; ++w)
    if (!table_->walks[static_cast<std::size_t>(w)].used[static_cast<std::size_t>(access)] &&
        at_[static_cast<std::size_t>(w)] > 0)
      return false;
  return true;
}

}  // namespace isamap
