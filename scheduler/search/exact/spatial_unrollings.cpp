// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/exact/spatial_unrollings.h"

#include <algorithm>
#include <set>

namespace isamap::hierarchy {

namespace {

class UnrollingEnumerator {
 public:
  UnrollingEnumerator(const Problem& problem, bool dividing) : problem_(problem), dividing_(dividing) {
    for (auto& steps : now_.steps) steps.fill(1);
    for (auto& level : now_.axis)
      for (auto& axis : level) axis.fill(1);
    for (int l = 0; l + 1 < problem.level_count(); ++l)
      for (std::size_t x = 0; x < problem.levels[at(l)].axes.size(); ++x) places_.push_back({l, static_cast<int>(x)});
  }

  std::vector<SpatialUnrolling> run() {
    place(0);
    return std::move(found_);
  }

 private:
  void place(std::size_t p) {
    if (p < places_.size()) return dim(p, 0, problem_.levels[at(places_[p].first)].axes[at(places_[p].second)].count);
    if (possible() && seen_.insert(now_.steps).second) found_.push_back(now_);
  }

  /// Does every instance have work, at least with the smallest tiles?
  bool possible() const {
    for (int d = 0; d < problem_.dim_count(); ++d) {
      std::int64_t tile = 1;
      for (int l = problem_.level_count() - 1; l-- > 0; tile *= now_.steps[at(l)][at(d)])
        if ((now_.steps[at(l)][at(d)] - 1) * tile >= problem_.dims[at(d)].extent) return false;
    }
    return true;
  }

  void dim(std::size_t p, int d, std::int64_t left) {
    if (d == problem_.dim_count()) return place(p + 1);
    const auto [l, x] = places_[p];
    std::int64_t before = 1;  // steps of this dim so far, over all levels
    for (const auto& steps : now_.steps) before *= steps[at(d)];
    const std::int64_t extent = problem_.dims[at(d)].extent, own = now_.steps[at(l)][at(d)];
    for (std::int64_t s = 1; s <= left && s <= extent; ++s) {
      if (dividing_ && extent % (before * s) != 0) continue;
      if (s > 1 && own > 1) break;  // a dim is on one axis of a level
      now_.axis[at(l)][at(x)][at(d)] = s;
      now_.steps[at(l)][at(d)] = own * s;
      dim(p, d + 1, left / s);
    }
    now_.axis[at(l)][at(x)][at(d)] = 1;
    now_.steps[at(l)][at(d)] = own;
  }

  const Problem& problem_;
  bool dividing_;
  std::vector<std::pair<int, int>> places_;
  SpatialUnrolling now_;
  std::set<std::array<std::array<std::int64_t, max_dims>, max_levels>> seen_;
  std::vector<SpatialUnrolling> found_;
};

}  // namespace

std::vector<SpatialUnrolling> spatial_unrollings(const Problem& problem, bool dividing) {
  return UnrollingEnumerator(problem, dividing).run();
}

std::vector<Keep> all_keeps(const Problem& problem, bool keep_all) {
  const std::uint32_t all = (1U << problem.operand_count()) - 1;
  std::vector<Keep> keeps{Keep{}};
  for (int l = 0; l < problem.level_count(); ++l) {
    std::vector<Keep> more;
    const std::uint32_t must = keep_all ? all : problem.levels[at(l)].must_keep;
    for (const Keep& keep : keeps)
      for (std::uint32_t mask = 0; mask <= all; ++mask) {
        if ((mask & must) != must) continue;
        more.push_back(keep);
        more.back()[at(l)] = mask;
      }
    keeps = std::move(more);
  }
  return keeps;
}

}  // namespace isamap::hierarchy
