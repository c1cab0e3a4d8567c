// SPDX-License-Identifier: Apache-2.0
// (C): digits and residual loops form, along each of n independent directions, a radix chain 1 = s1 | s2 | ... with
// s(k+1) = s(k)*e(k).
//
// Mostly the directions are the coordinates. A column may move other coordinates too, as long as these are determined
// later ("sheared"): q - s determines q and shifts s, or the other way round. Peeling the coordinates in order by
// Euclid's division then gives every point exactly one position in the digits and loops. Where no order of the
// coordinates works (p - r with p + r), every column is its own direction, unit vectors complete them to a basis, and
// the lattice that they span has cosets in Z^n, one more residual loop (a box: the diagonal of the lattice's Hermite
// form). Dependent columns (d1, d2 and d1 - d2) count along a basis of some of them, sheared as along coordinates. Gaps
// in a chain, and the remainder on top, become residual loops.

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "mapper/proof/conditions.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr int max_steps = 10'000;

IntVector unit_vector(std::size_t dims, std::size_t d, std::int64_t size = 1) {
  IntVector v(dims, 0);
  v[d] = size;
  return v;
}
IntVector scaled(IntVector v, std::int64_t by) {
  for (auto& x : v) x *= by;
  return v;
}

/// Chooses the pivot of each digit such that in some order of the coordinates every column moves later ones only.
class PivotSearch {
 public:
  using Visit = std::function<bool(const Pivots&, const std::vector<int>&)>;
  PivotSearch(const std::vector<DigitStep>& digit_steps, std::size_t dims, const Visit& visit, bool backwards = false)
      : digit_steps_(digit_steps),
        dims_(static_cast<int>(dims)),
        visit_(visit),
        backwards_(backwards),
        pivot_(digit_steps.size(), -1) {
    for (const DigitStep& w : digit_steps) {
      shears_ = shears_ || std::count_if(w.column.begin(), w.column.end(), [](std::int64_t v) { return v != 0; }) > 1;
    }
  }

  bool choose(std::size_t w) {
    if (++steps_ > max_steps) return false;
    if (w == digit_steps_.size()) return sort_dims() && visit_(pivot_, order_);
    for (int d = 0; d < dims_; ++d) {
      const std::int64_t step = digit_steps_[w].column[static_cast<std::size_t>(d)];
      if (step == 0 || (step < 0 && !backwards_)) continue;
      pivot_[w] = d;
      if (choose(w + 1)) return true;
    }
    return false;
  }

 private:
  bool shifts(std::size_t w, int d) const {
    return pivot_[w] != d && digit_steps_[w].column[static_cast<std::size_t>(d)] != 0;
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
        for (std::size_t w = 0; w < digit_steps_.size() && ready; ++w) {
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

  const std::vector<DigitStep>& digit_steps_;
  int dims_;
  const Visit& visit_;
  bool backwards_;  // digits may count down; correct where all loops on top float
  bool shears_ = false;
  std::vector<int> pivot_, order_;
  int steps_ = 0;
};

/// Digits along one direction: (stride, extent).
using Strides = boost::container::small_vector<std::pair<std::int64_t, std::int64_t>, 4>;

/// The loops of a chain: those between its digits, and the one on top when digits do not reach `extent` or float.
struct ChainLoops {
  Strides between;         ///< stride, extent
  std::int64_t reach = 1;  ///< of all digits and loops between them
};
std::optional<ChainLoops> chain_loops(Strides digits) {
  if (digits.size() > 1)
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
std::int64_t shift_span(const std::vector<DigitStep>& digit_steps, const Pivots& pivots, std::size_t d) {
  std::int64_t span = 0;
  for (std::size_t w = 0; w < digit_steps.size(); ++w) {
    if (pivots[w] == static_cast<int>(d) || digit_steps[w].column[d] == 0) continue;
    const auto far =
        checked_mul(std::abs(digit_steps[w].column[d]), std::max<std::int64_t>(digit_steps[w].extent - 1, 0));
    span = far ? checked_add(span, *far).value_or(INT64_MAX / 4) : INT64_MAX / 4;
  }
  return std::min(span, INT64_MAX / 4);
}

/// Adds the loops of coordinate d, whose digits are those with this pivot.
bool add_coordinate(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Pivots& pivots,
                    std::size_t d, Cover& cover) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  Strides digits;
  bool shifted = false;
  for (std::size_t w = 0; w < digit_steps.size(); ++w) {
    const std::int64_t step = digit_steps[w].column[d];
    if (pivots[w] == static_cast<int>(d))
      digits.emplace_back(step, digit_steps[w].extent);
    else
      shifted = shifted || step != 0;
  }
  const auto chain = chain_loops(std::move(digits));
  if (!chain) return false;
  for (const auto& [stride, extent] : chain->between)
    cover.loops.push_back({unit_vector(dims.size(), d, stride), extent, false});
  const std::int64_t extent = dims[d].extent, reach = chain->reach;
  if (shifted) {
    const std::int64_t range = std::min(extent, INT64_MAX / 4) + shift_span(digit_steps, pivots, d);
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

bool by_coordinates(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                    const std::function<bool(const Cover&)>& take) {
  constexpr int max_covers = 16;
  const std::size_t n = alignment.computation().domain.dims.size();
  int covers = 0;
  bool accepted = false;
  some_pivots(digit_steps, n, [&](const Pivots& pivots, const std::vector<int>& order) {
    Cover cover;
    cover.loops.reserve(n + 1);
    cover.below.assign(n, false);
    cover.beyond.assign(n, false);
    for (const int d : order)
      if (!add_coordinate(alignment, digit_steps, pivots, static_cast<std::size_t>(d), cover)) return false;
    accepted = take(cover);
    return accepted || ++covers == max_covers;
  });
  return accepted;
}

/// Primitive directions of the columns, first entry positive, each once.
std::vector<IntVector> rays_of(const std::vector<DigitStep>& digit_steps) {
  std::vector<IntVector> rays;
  for (const DigitStep& w : digit_steps) {
    std::int64_t size = 0;
    for (const std::int64_t x : w.column) size = std::gcd(size, x);
    if (size == 0) continue;
    const auto lead = std::find_if(w.column.begin(), w.column.end(), [](std::int64_t x) { return x != 0; });
    IntVector direction = w.column;
    for (auto& x : direction) x /= *lead < 0 ? -size : size;
    if (std::find(rays.begin(), rays.end(), direction) == rays.end()) rays.push_back(std::move(direction));
  }
  return rays;
}

/// Independent rays, completed by unit vectors to n of them. Of dependent rays some are left out: a greedy choice from
/// each ray on gives the choices that are tried.
std::vector<std::vector<IntVector>> bases_of(const std::vector<IntVector>& rays, std::size_t n) {
  std::vector<std::vector<IntVector>> bases;
  for (std::size_t start = 0; start < std::max<std::size_t>(rays.size(), 1); ++start) {
    std::vector<IntVector> basis;
    const auto add = [&](const IntVector& v) {
      basis.push_back(v);
      if (!independent(basis)) basis.pop_back();
    };
    for (std::size_t i = 0; i < rays.size(); ++i) add(rays[(start + i) % rays.size()]);
    for (std::size_t d = 0; d < n && basis.size() < n; ++d) add(unit_vector(n, d));
    if (basis.size() == n && std::find(bases.begin(), bases.end(), basis) == bases.end()) bases.push_back(basis);
  }
  return bases;
}

/// The columns in coordinates of the basis; nothing when one is no integer combination (Cramer's rule).
std::optional<std::vector<DigitStep>> in_basis(std::vector<DigitStep> digit_steps,
                                               const std::vector<IntVector>& basis) {
  const auto index = determinant(basis);
  if (!index || *index == 0) return std::nullopt;
  for (DigitStep& w : digit_steps) {
    IntVector coordinates;
    for (std::size_t a = 0; a < basis.size(); ++a) {
      std::vector<IntVector> replaced = basis;
      replaced[a] = w.column;
      const auto numerator = determinant(std::move(replaced));
      if (!numerator || *numerator % *index != 0) return std::nullopt;
      coordinates.push_back(*numerator / *index);
    }
    w.column = std::move(coordinates);
  }
  return digit_steps;
}

/// Chains along the vectors of a basis instead of the coordinates; all tops float. `steps`: the number of steps along a
/// vector.
std::optional<std::vector<Cover::Loop>> loops_along(const std::vector<DigitStep>& digit_steps,
                                                    const std::vector<IntVector>& basis,
                                                    const std::function<std::int64_t(const IntVector&)>& steps) {
  const auto columns = in_basis(digit_steps, basis);
  const auto diagonal = hermite_diagonal(basis);
  if (!columns || !diagonal) return std::nullopt;
  std::optional<std::vector<Cover::Loop>> found;
  const auto chains = [&](const Pivots& pivots, const std::vector<int>&) {
    std::vector<Cover::Loop> loops;
    for (std::size_t a = 0; a < basis.size(); ++a) {
      Strides digits;
      for (std::size_t w = 0; w < columns->size(); ++w)
        if (pivots[w] == static_cast<int>(a))
          digits.emplace_back(std::abs((*columns)[w].column[a]), (*columns)[w].extent);
      const auto chain = chain_loops(std::move(digits));
      if (!chain) return false;
      for (const auto& [stride, extent] : chain->between) loops.push_back({scaled(basis[a], stride), extent, false});
      const std::int64_t reach = std::max<std::int64_t>(chain->reach, 1);
      loops.push_back({scaled(basis[a], reach), ceil_div(steps(basis[a]), reach), true});
    }
    for (std::size_t d = 0; d < basis.size(); ++d)
      if ((*diagonal)[d] > 1) loops.push_back({unit_vector(basis.size(), d), (*diagonal)[d], false});
    found = std::move(loops);
    return true;
  };
  const PivotSearch::Visit visit = chains;
  PivotSearch(*columns, basis.size(), visit, true).choose(0);
  return found;
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

bool by_lattice(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                const std::function<bool(const Cover&)>& take) {
  const std::size_t n = alignment.computation().domain.dims.size();
  for (const std::vector<IntVector>& basis : bases_of(rays_of(digit_steps), n)) {
    auto loops = loops_along(digit_steps, basis, [&](const IntVector& v) { return steps_in_box(alignment, v); });
    if (!loops) continue;
    Cover cover{std::move(*loops), std::vector<bool>(n, false), std::vector<bool>(n, false)};
    for (const DigitStep& w : digit_steps)
      for (std::size_t d = 0; d < n; ++d)
        if (w.column[d] != 0) cover.below[d] = cover.beyond[d] = true;
    if (take(cover)) return true;
  }
  return false;
}

}  // namespace

bool some_pivots(const std::vector<DigitStep>& digit_steps, std::size_t dims,
                 const std::function<bool(const Pivots&, const std::vector<int>&)>& visit) {
  return PivotSearch(digit_steps, dims, visit).choose(0);
}

bool covers_by_lattice(const std::vector<DigitStep>& digit_steps, const std::vector<Cover::Loop>& loops,
                       std::size_t dims) {
  const auto same = [](const Cover::Loop& a, const Cover::Loop& b) {
    return a.step == b.step && a.floating == b.floating && (a.floating || a.extent == b.extent);
  };
  for (const std::vector<IntVector>& basis : bases_of(rays_of(digit_steps), dims)) {
    const auto expected = loops_along(digit_steps, basis, [](const IntVector&) { return std::int64_t{1}; });
    if (expected && std::is_permutation(expected->begin(), expected->end(), loops.begin(), loops.end(), same))
      return true;
  }
  return false;
}

bool some_cover(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                const std::function<bool(const Cover&)>& take) {
  return by_coordinates(alignment, digit_steps, take) || by_lattice(alignment, digit_steps, take);
}

}  // namespace isamap
