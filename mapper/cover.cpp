// (C): digits and residual loops form, for each coordinate, a radix chain 1 = s1 | s2 | ... with s(k+1) = s(k)*e(k).
//
// A column may move other coordinates too, as long as these are decided later ("sheared"): q - s decides q and shifts
// s, or the other way round. Peeling the coordinates in order by Euclid's division then gives every point exactly one
// position in the digits and loops. Gaps in a chain, and what is left on top, become residual loops.

#include <algorithm>
#include <cstdlib>

#include "mapper/conditions.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr int kMaxSteps = 10'000;

/// Chooses the pivot of each walker such that some order of coordinates lets every column reach later ones only.
class PivotSearch {
 public:
  PivotSearch(const std::vector<Walker>& walkers, int dims)
      : walkers_(walkers), dims_(dims), pivot_(walkers.size(), -1) {
    for (const Walker& w : walkers) {
      shears_ = shears_ || std::count_if(w.column.begin(), w.column.end(), [](std::int64_t v) { return v != 0; }) > 1;
    }
  }

  std::optional<std::vector<int>> run() { return choose(0) ? std::optional(pivot_) : std::nullopt; }
  const std::vector<int>& order() const { return order_; }

 private:
  bool choose(std::size_t w) {
    if (++steps_ > kMaxSteps) return false;
    if (w == walkers_.size()) return sort_dims();
    for (int d = 0; d < dims_; ++d) {
      if (walkers_[w].column[static_cast<std::size_t>(d)] <= 0) continue;
      pivot_[w] = d;
      if (choose(w + 1)) return true;
    }
    return false;
  }

  bool shifts(std::size_t w, int d) const {
    return pivot_[w] != d && walkers_[w].column[static_cast<std::size_t>(d)] != 0;
  }

  /// Topological order, smallest number first.
  bool sort_dims() {
    order_.clear();
    if (!shears_) {
      for (int d = 0; d < dims_; ++d) order_.push_back(d);
      return true;
    }
    std::vector<bool> done(static_cast<std::size_t>(dims_), false);
    while (static_cast<int>(order_.size()) < dims_) {
      int next = -1;
      for (int d = 0; d < dims_ && next < 0; ++d) {
        bool ready = !done[static_cast<std::size_t>(d)];
        for (std::size_t w = 0; w < walkers_.size() && ready; ++w) {
          ready = !(shifts(w, d) && !done[static_cast<std::size_t>(pivot_[w])]);
        }
        if (ready) next = d;
      }
      if (next < 0) return false;
      done[static_cast<std::size_t>(next)] = true;
      order_.push_back(next);
    }
    return true;
  }

  const std::vector<Walker>& walkers_;
  int dims_;
  bool shears_ = false;
  std::vector<int> pivot_, order_;
  int steps_ = 0;
};

std::optional<Chain> chain_of(int pivot, std::int64_t extent, const std::vector<Walker>& walkers,
                              const std::vector<int>& pivots) {
  Chain chain;
  chain.pivot = pivot;
  std::vector<int> mine;
  for (std::size_t w = 0; w < walkers.size(); ++w) {
    if (pivots[w] == pivot)
      mine.push_back(static_cast<int>(w));
    else if (walkers[w].column[static_cast<std::size_t>(pivot)] != 0)
      chain.shifted = true;
  }
  const auto stride = [&](int w) {
    return walkers[static_cast<std::size_t>(w)].column[static_cast<std::size_t>(pivot)];
  };
  std::stable_sort(mine.begin(), mine.end(), [&](int a, int b) { return stride(a) < stride(b); });
  std::int64_t reached = 1;
  for (const int w : mine) {
    if (reached == 0) {
      chain.links.push_back({stride(w), walkers[static_cast<std::size_t>(w)].extent, w});
      continue;
    }
    if (stride(w) % reached != 0) return std::nullopt;
    if (stride(w) > reached) chain.links.push_back({reached, stride(w) / reached, -1});
    chain.links.push_back({stride(w), walkers[static_cast<std::size_t>(w)].extent, w});
    const auto next = checked_mul(stride(w), walkers[static_cast<std::size_t>(w)].extent);
    if (!next) return std::nullopt;
    reached = *next;
  }
  if (reached > 0 && (reached < extent || chain.shifted))
    chain.links.push_back({reached, ceil_div(std::max<std::int64_t>(extent, 1), reached), -1});
  return chain;
}

}  // namespace

std::int64_t Chain::reach() const { return links.empty() ? 1 : links.back().stride * links.back().extent; }

std::optional<std::vector<int>> pivots_of(const std::vector<Walker>& walkers, int dims) {
  return PivotSearch(walkers, dims).run();
}

std::optional<Cover> exact_cover(const Alignment& alignment, const std::vector<Walker>& walkers) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  PivotSearch search(walkers, static_cast<int>(dims.size()));
  const auto pivots = search.run();
  if (!pivots) return std::nullopt;
  Cover cover;
  for (const int d : search.order()) {
    auto chain = chain_of(d, dims[static_cast<std::size_t>(d)].extent, walkers, *pivots);
    if (!chain) return std::nullopt;
    cover.push_back(std::move(*chain));
  }
  return cover;
}

}  // namespace isamap
