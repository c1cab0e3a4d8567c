// (C): digits and residual loops form, along each of n independent directions, a radix chain 1 = s1 | s2 | ... with
// s(k+1) = s(k)*e(k).
//
// Mostly the directions are the coordinates. A column may move other coordinates too, as long as these are decided
// later
// ("sheared"): q - s decides q and shifts s, or the other way round. Peeling the coordinates in order by Euclid's
// division then gives every point exactly one position in the digits and loops. Where no order of the coordinates works
// (p - r with p + r), every column is a direction of its own, unit vectors complete them to a basis, and the lattice
// that they span has cosets in Z^n, one more residual loop (a box: the diagonal of the lattice's Hermite form).
// Gaps in a chain, and what is left on top, become residual loops.

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "mapper/conditions.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr int kMaxSteps = 10'000;

IntVector unit_vector(std::size_t dims, std::size_t d, std::int64_t size = 1) {
  IntVector v(dims, 0);
  v[d] = size;
  return v;
}
IntVector scaled(IntVector v, std::int64_t by) {
  for (auto& x : v) x *= by;
  return v;
}

/// Chooses the pivot of each walker such that some order of coordinates lets every column reach later ones only.
class PivotSearch {
 public:
  using Visit = std::function<bool(const Pivots&, const std::vector<int>&)>;
  PivotSearch(const std::vector<Walker>& walkers, std::size_t dims, const Visit& visit)
      : walkers_(walkers), dims_(static_cast<int>(dims)), visit_(visit), pivot_(walkers.size(), -1) {
    for (const Walker& w : walkers) {
      shears_ = shears_ || std::count_if(w.column.begin(), w.column.end(), [](std::int64_t v) { return v != 0; }) > 1;
    }
  }

  bool choose(std::size_t w) {
    if (++steps_ > kMaxSteps) return false;
    if (w == walkers_.size()) return sort_dims() && visit_(pivot_, order_);
    for (int d = 0; d < dims_; ++d) {
      if (walkers_[w].column[static_cast<std::size_t>(d)] <= 0) continue;
      pivot_[w] = d;
      if (choose(w + 1)) return true;
    }
    return false;
  }

 private:
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
  const Visit& visit_;
  bool shears_ = false;
  std::vector<int> pivot_, order_;
  int steps_ = 0;
};

/// Digits along one direction: (stride, extent).
using Strides = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The loops of a chain: those between its digits, and the one on top when digits do not reach `extent` or float.
struct ChainLoops {
  std::vector<std::pair<std::int64_t, std::int64_t>> between;  ///< stride, extent
  std::int64_t reach = 1;                                      ///< of all digits and loops between them
};
std::optional<ChainLoops> chain_loops(Strides digits) {
  std::stable_sort(digits.begin(), digits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  ChainLoops chain;
  for (const auto& [stride, extent] : digits) {
    if (chain.reach == 0) continue;
    if (stride % chain.reach != 0) return std::nullopt;
    if (stride > chain.reach) chain.between.emplace_back(chain.reach, stride / chain.reach);
    const auto next = checked_mul(stride, extent);
    if (!next) return std::nullopt;
    chain.reach = *next;
  }
  return chain;
}

/// How far columns of other chains move coordinate d altogether.
std::int64_t shift_span(const std::vector<Walker>& walkers, const Pivots& pivots, std::size_t d) {
  std::int64_t span = 0;
  for (std::size_t w = 0; w < walkers.size(); ++w) {
    if (pivots[w] == static_cast<int>(d) || walkers[w].column[d] == 0) continue;
    const auto far = checked_mul(std::abs(walkers[w].column[d]), std::max<std::int64_t>(walkers[w].extent - 1, 0));
    span = far ? checked_add(span, *far).value_or(INT64_MAX / 4) : INT64_MAX / 4;
  }
  return std::min(span, INT64_MAX / 4);
}

/// Adds the loops of coordinate d, whose digits are those with this pivot.
bool add_coordinate(const Alignment& alignment, const std::vector<Walker>& walkers, const Pivots& pivots, std::size_t d,
                    Cover& cover) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  Strides digits;
  bool shifted = false;
  for (std::size_t w = 0; w < walkers.size(); ++w) {
    const std::int64_t step = walkers[w].column[d];
    if (pivots[w] == static_cast<int>(d))
      digits.emplace_back(step, walkers[w].extent);
    else
      shifted = shifted || step != 0;
  }
  const auto chain = chain_loops(std::move(digits));
  if (!chain) return false;
  for (const auto& [stride, extent] : chain->between)
    cover.loops.push_back({unit_vector(dims.size(), d, stride), extent, false});
  const std::int64_t extent = dims[d].extent, reach = chain->reach;
  if (shifted) {
    const std::int64_t range = std::min(extent, INT64_MAX / 4) + shift_span(walkers, pivots, d);
    const std::int64_t count = reach > 0 ? ceil_div(std::max<std::int64_t>(range, 1), reach) : 1;
    if (reach > 0) cover.loops.push_back({unit_vector(dims.size(), d, reach), count, true});
  } else if (reach > 0 && reach < extent) {
    cover.loops.push_back({unit_vector(dims.size(), d, reach), ceil_div(extent, reach), false});
  }
  cover.below[d] = shifted;
  // Without a shift the top loop ends at the extent: only a last tile that is cut short crosses the face.
  cover.beyond[d] = shifted || (reach < extent ? reach > 0 && extent % reach != 0 : reach != extent);
  return true;
}

std::optional<Cover> by_coordinates(const Alignment& alignment, const std::vector<Walker>& walkers) {
  const std::size_t n = alignment.computation().domain.dims.size();
  std::optional<Cover> found;
  some_pivots(walkers, n, [&](const Pivots& pivots, const std::vector<int>& order) {
    Cover cover;
    cover.below.assign(n, false);
    cover.beyond.assign(n, false);
    for (const int d : order)
      if (!add_coordinate(alignment, walkers, pivots, static_cast<std::size_t>(d), cover)) return false;
    found = std::move(cover);
    return true;
  });
  return found;
}

/// A primitive direction, first entry positive, and the digits along it.
struct Ray {
  IntVector direction;
  Strides digits;
};

std::vector<Ray> rays_of(const std::vector<Walker>& walkers) {
  std::vector<Ray> rays;
  for (const Walker& w : walkers) {
    std::int64_t size = 0;
    for (const std::int64_t x : w.column) size = std::gcd(size, x);
    if (size == 0) continue;
    const auto lead = std::find_if(w.column.begin(), w.column.end(), [](std::int64_t x) { return x != 0; });
    IntVector direction = w.column;
    for (auto& x : direction) x /= *lead < 0 ? -size : size;
    auto ray = std::find_if(rays.begin(), rays.end(), [&](const Ray& r) { return r.direction == direction; });
    if (ray == rays.end()) ray = rays.insert(rays.end(), {direction, {}});
    ray->digits.emplace_back(size, w.extent);
  }
  return rays;
}

/// Completes independent rays by unit vectors; nothing when they are dependent.
bool complete(std::vector<Ray>& rays, std::size_t n) {
  std::vector<IntVector> vectors;
  for (const Ray& ray : rays) vectors.push_back(ray.direction);
  if (!independent(vectors)) return false;
  for (std::size_t d = 0; d < n && rays.size() < n; ++d) {
    vectors.push_back(unit_vector(n, d));
    if (independent(vectors))
      rays.push_back({vectors.back(), {}});
    else
      vectors.pop_back();
  }
  return rays.size() == n;
}

/// How many steps of the direction fit into the domain's box.
std::int64_t steps_in_box(const Alignment& alignment, const IntVector& direction) {
  std::int64_t steps = INT64_MAX;
  for (std::size_t d = 0; d < direction.size(); ++d) {
    const std::int64_t extent = alignment.computation().domain.dims[d].extent;
    if (direction[d] != 0) steps = std::min(steps, ceil_div(std::max<std::int64_t>(extent, 1), std::abs(direction[d])));
  }
  return steps;
}

std::optional<Cover> by_lattice(const Alignment& alignment, const std::vector<Walker>& walkers) {
  const std::size_t n = alignment.computation().domain.dims.size();
  std::vector<Ray> rays = rays_of(walkers);
  if (!complete(rays, n)) return std::nullopt;
  Cover cover;
  cover.below.assign(n, false);
  cover.beyond.assign(n, false);
  std::vector<IntVector> directions;
  for (const Ray& ray : rays) {
    const auto chain = chain_loops(ray.digits);
    if (!chain) return std::nullopt;
    for (const auto& [stride, extent] : chain->between)
      cover.loops.push_back({scaled(ray.direction, stride), extent, false});
    const std::int64_t reach = std::max<std::int64_t>(chain->reach, 1);
    cover.loops.push_back(
        {scaled(ray.direction, reach), ceil_div(steps_in_box(alignment, ray.direction), reach), true});
    directions.push_back(ray.direction);
    for (std::size_t d = 0; d < n && !ray.digits.empty(); ++d)
      if (ray.direction[d] != 0) cover.below[d] = cover.beyond[d] = true;
  }
  const auto diagonal = hermite_diagonal(directions);
  if (!diagonal) return std::nullopt;
  for (std::size_t d = 0; d < n; ++d)
    if ((*diagonal)[d] > 1) cover.loops.push_back({unit_vector(n, d), (*diagonal)[d], false});
  return cover;
}

}  // namespace

bool some_pivots(const std::vector<Walker>& walkers, std::size_t dims,
                 const std::function<bool(const Pivots&, const std::vector<int>&)>& visit) {
  return PivotSearch(walkers, dims, visit).choose(0);
}

bool covers_by_lattice(const std::vector<Walker>& walkers, const std::vector<Cover::Loop>& loops, std::size_t dims) {
  // Each floating loop is the top of one ray; below it digits and loops along the ray form a chain that reaches it.
  std::vector<Ray> rays = rays_of(walkers);
  std::vector<bool> taken(loops.size(), false);
  if (!complete(rays, dims)) return false;
  std::vector<IntVector> directions;
  for (const Ray& ray : rays) {
    const auto chain = chain_loops(ray.digits);
    if (!chain || chain->reach == 0) return false;
    const auto take = [&](const IntVector& step, std::int64_t extent, bool floating) {
      for (std::size_t l = 0; l < loops.size(); ++l) {
        const bool fits =
            loops[l].step == step && loops[l].floating == floating && (floating || loops[l].extent == extent);
        if (taken[l] || !fits) continue;
        taken[l] = true;
        return true;
      }
      return false;
    };
    for (const auto& [stride, extent] : chain->between)
      if (!take(scaled(ray.direction, stride), extent, false)) return false;
    if (!take(scaled(ray.direction, chain->reach), 0, true)) return false;
    directions.push_back(ray.direction);
  }
  const auto diagonal = hermite_diagonal(directions);
  if (!diagonal) return false;
  IntVector cosets(dims, 1);
  for (std::size_t l = 0; l < loops.size(); ++l) {
    if (taken[l]) continue;
    const auto d =
        static_cast<std::size_t>(std::find(loops[l].step.begin(), loops[l].step.end(), 1) - loops[l].step.begin());
    if (d >= dims || loops[l].step != unit_vector(dims, d) || cosets[d] != 1) return false;
    cosets[d] = loops[l].extent;
  }
  return cosets == *diagonal;
}

std::optional<Cover> exact_cover(const Alignment& alignment, const std::vector<Walker>& walkers) {
  if (auto cover = by_coordinates(alignment, walkers)) return cover;
  return by_lattice(alignment, walkers);
}

}  // namespace isamap
