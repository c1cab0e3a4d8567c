// SPDX-License-Identifier: Apache-2.0
#include "mapper/digits/digit_orders.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace isamap {
namespace {

constexpr std::size_t max_support = 16;
constexpr std::size_t max_variants = 64;

bool divided(const Alignment& alignment, const IntVector& column) {
  for (const IndexRow& row : alignment.rows[0]) {
    if (row.linear) continue;
    for (std::size_t d = 0; d < column.size(); ++d)
      if (column[d] != 0 && (row.dims >> d & 1U) != 0) return true;
  }
  return false;
}

/// The integer c with w = c * u, if there is one (u != 0).
std::optional<std::int64_t> multiple(const IntVector& w, const IntVector& u) {
  std::optional<std::int64_t> ratio;
  for (std::size_t i = 0; i < u.size(); ++i) {
    if (u[i] == 0) {
      if (w[i] != 0) return std::nullopt;
      continue;
    }
    if (w[i] % u[i] != 0 || (ratio && *ratio != w[i] / u[i])) return std::nullopt;
    ratio = w[i] / u[i];
  }
  return ratio == 0 ? std::nullopt : ratio;
}

/// The directions except some, completed to a basis of Q^n by unit directions of least index, earliest first. Only the
/// combined directions matter: unit directions determine their own coordinate.
class Frame {
 public:
  Frame(const std::vector<PlacedDirection>& placed, const std::vector<bool>& left_out) {
    std::vector<bool> settled(placed.empty() ? 0 : placed[0].column.size(), false);
    for (std::size_t l = 0; l < placed.size(); ++l) {
      if (left_out[l]) continue;
      if (placed[l].unit >= 0)
        settled[static_cast<std::size_t>(placed[l].unit)] = true;
      else
        combined_.push_back(static_cast<int>(l));
    }
    std::vector<std::size_t> support;
    for (std::size_t d = 0; d < settled.size(); ++d) {
      const bool moved = std::any_of(combined_.begin(), combined_.end(),
                                     [&](int l) { return placed[static_cast<std::size_t>(l)].column[d] != 0; });
      if (moved && !settled[d]) support.push_back(d);
    }
    if (support.size() <= max_support) choose(placed, support);
  }

  bool exists() const { return index_ != 0; }

  /// Coefficient of placed direction `inner` when `column` is written in the frame, if all of them are integers.
  std::optional<std::int64_t> coefficient(const std::vector<PlacedDirection>& placed, int inner,
                                          const IntVector& column) const {
    std::vector<std::int64_t> factors;
    for (std::size_t k = 0; k < combined_.size(); ++k) {  // Cramer's rule
      std::vector<IntVector> replaced = minor(placed, pivots_);
      for (std::size_t i = 0; i < pivots_.size(); ++i) replaced[k][i] = column[pivots_[i]];
      const auto numerator = determinant(std::move(replaced));
      if (!numerator || *numerator % index_ != 0) return std::nullopt;
      factors.push_back(*numerator / index_);
    }
    for (std::size_t k = 0; k < combined_.size(); ++k)
      if (combined_[k] == inner) return factors[k];
    const auto d = static_cast<std::size_t>(placed[static_cast<std::size_t>(inner)].unit);
    std::int64_t remainder = column[d];
    for (std::size_t k = 0; k < combined_.size(); ++k)
      remainder -= factors[k] * placed[static_cast<std::size_t>(combined_[k])].column[d];
    return remainder;
  }

 private:
  /// Row k: combined direction k at the given coordinates.
  std::vector<IntVector> minor(const std::vector<PlacedDirection>& placed, const std::vector<std::size_t>& at) const {
    std::vector<IntVector> rows;
    for (const int l : combined_) {
      rows.emplace_back();
      for (const std::size_t d : at) rows.back().push_back(placed[static_cast<std::size_t>(l)].column[d]);
    }
    return rows;
  }

  /// The coordinates that unit directions do not determine: the latest of those with the smallest determinant.
  void choose(const std::vector<PlacedDirection>& placed, const std::vector<std::size_t>& support) {
    if (combined_.empty()) {
      index_ = 1;
      return;
    }
    if (support.size() < combined_.size()) return;
    std::vector<bool> chosen(support.size(), false);
    std::fill(chosen.end() - static_cast<std::ptrdiff_t>(combined_.size()), chosen.end(), true);
    do {  // the latest coordinates first
      std::vector<std::size_t> at;
      for (std::size_t i = 0; i < support.size(); ++i)
        if (chosen[i]) at.push_back(support[i]);
      const auto index = determinant(minor(placed, at));
      if (!index || *index == 0 || (index_ != 0 && std::abs(*index) >= std::abs(index_))) continue;
      index_ = *index;
      pivots_ = at;
    } while (std::next_permutation(chosen.begin(), chosen.end()));
  }

  std::vector<int> combined_;
  std::vector<std::size_t> pivots_;
  std::int64_t index_ = 0;
};

struct Pair {
  int a = 0, b = 0;
};

/// Digits that move the output, their images there, and the pairs with parallel images.
struct Parallels {
  std::vector<int> on_output;
  std::vector<IntVector> images;
  std::vector<Pair> pairs;  ///< positions in on_output
};

/// Nothing when three images are parallel, or images are linearly dependent otherwise.
std::optional<Parallels> parallels_of(const Alignment& alignment, const std::vector<PlacedDirection>& placed,
                                      std::vector<int> on_output) {
  Parallels found;
  found.images.reserve(on_output.size());
  for (const int l : on_output)
    found.images.push_back(output_image(alignment, placed[static_cast<std::size_t>(l)].column));
  found.on_output = std::move(on_output);
  const std::vector<IntVector>& images = found.images;
  std::vector<bool> paired(images.size(), false);
  for (std::size_t i = 0; i < images.size(); ++i) {
    int others = 0;
    for (std::size_t j = i + 1; j < images.size() && !paired[i]; ++j) {
      if (!parallel(images[i], images[j])) continue;
      paired[j] = true;
      found.pairs.push_back({static_cast<int>(i), static_cast<int>(j)});
      if (++others > 1) return std::nullopt;
    }
  }
  if (found.pairs.empty()) return independent(images) ? std::optional(std::move(found)) : std::nullopt;
  std::vector<IntVector> representatives;
  for (std::size_t i = 0; i < images.size(); ++i)
    if (!paired[i]) representatives.push_back(images[i]);
  return independent(representatives) ? std::optional(std::move(found)) : std::nullopt;
}

class Enumerator {
 public:
  Enumerator(const std::vector<PlacedDirection>& placed, const Parallels& parallels)
      : placed_(placed), parallels_(parallels), pairs_(parallels.pairs) {}

  OutputOrders run() {
    choose(0);
    if (!pairs_.empty()) choose_others(0);
    return std::move(found_);
  }

 private:
  const PlacedDirection& at(int l) const { return placed_[static_cast<std::size_t>(l)]; }
  const IntVector& image(int i) const { return parallels_.images[static_cast<std::size_t>(i)]; }
  int position(int i) const { return parallels_.on_output[static_cast<std::size_t>(i)]; }

  void choose(std::size_t p) {
    if (found_.counted.size() >= max_variants) return;
    if (p == pairs_.size()) {
      if (covers()) found_.counted.push_back(chosen_);
      return;
    }
    for (const auto& [a, b] : {Pair{pairs_[p].a, pairs_[p].b}, Pair{pairs_[p].b, pairs_[p].a}}) {
      const int inner = position(a), outer = position(b);
      const auto ratio = multiple(image(b), image(a));
      if (!ratio) continue;
      const bool one_slot = at(inner).home.slot == at(outer).home.slot;
      const bool tied = at(inner).home.tied != 0 || at(outer).home.tied != 0;
      if (!tied && !one_slot) {
        chosen_.push_back({inner, outer, *ratio, 1, false});
        choose(p + 1);
        chosen_.pop_back();
      }
      if (std::abs(*ratio) > 1) {
        chosen_.push_back({inner, outer, *ratio, 1, true});
        choose(p + 1);
        chosen_.pop_back();
      }
    }
  }

  /// Two digits that share a slot and move the output equally far span a step of the slot along which it is invariant:
  /// a sum distributed over the slot, and no member of the class.
  bool spreads_a_sum(const Order& order) const {
    return std::abs(order.ratio) == std::abs(order.per) &&
           (at(order.inner).home.slots() & at(order.outer).home.slots()) != 0;
  }

  void choose_others(std::size_t p) {
    if (found_.others.size() >= max_variants) return;
    if (p == pairs_.size()) {
      if (!is_counted() && free_without_outer()) found_.others.push_back(chosen_);
      return;
    }
    for (const auto& [a, b] : {Pair{pairs_[p].a, pairs_[p].b}, Pair{pairs_[p].b, pairs_[p].a}}) {
      const Order order = in_proportion(a, b);
      if (spreads_a_sum(order)) return;
      chosen_.push_back(order);
      choose_others(p + 1);
      chosen_.pop_back();
    }
  }

  Order in_proportion(int a, int b) const {
    const IntVector &u = image(a), &w = image(b);
    const auto d =
        static_cast<std::size_t>(std::find_if(u.begin(), u.end(), [](std::int64_t x) { return x != 0; }) - u.begin());
    const std::int64_t common = std::gcd(u[d], w[d]) * (u[d] < 0 ? -1 : 1);
    return {position(a), position(b), w[d] / common, u[d] / common, false};
  }

  bool is_counted() const {
    return std::any_of(found_.counted.begin(), found_.counted.end(), [&](const std::vector<Order>& counted) {
      return std::equal(counted.begin(), counted.end(), chosen_.begin(),
                        [](const Order& a, const Order& b) { return a.inner == b.inner && a.outer == b.outer; });
    });
  }

  bool free_without_outer() const {
    std::vector<IntVector> columns;
    for (std::size_t l = 0; l < placed_.size(); ++l) {
      const bool outer = std::any_of(chosen_.begin(), chosen_.end(),
                                     [&](const Order& order) { return order.outer == static_cast<int>(l); });
      if (!outer) columns.push_back(at(static_cast<int>(l)).column);
    }
    return independent(std::move(columns));
  }

  bool covers() const {
    std::vector<bool> stepped_over(placed_.size(), false);
    for (const Order& order : chosen_)
      if (!order.bounded) stepped_over[static_cast<std::size_t>(order.outer)] = true;
    const Frame frame(placed_, stepped_over);
    if (!frame.exists()) return false;
    return std::all_of(chosen_.begin(), chosen_.end(), [&](const Order& order) {
      return order.bounded || frame.coefficient(placed_, order.inner, at(order.outer).column) == order.ratio;
    });
  }

  const std::vector<PlacedDirection>& placed_;
  const Parallels& parallels_;
  const std::vector<Pair>& pairs_;
  std::vector<Order> chosen_;
  OutputOrders found_;
};

}  // namespace

IntVector output_image(const Alignment& alignment, const IntVector& column) {
  IntVector image;
  for (const IndexRow& row : alignment.rows[0]) {
    if (!row.linear) continue;
    image.push_back(std::inner_product(column.begin(), column.end(), row.coefficients.begin(), std::int64_t{0}));
  }
  return image;
}

OutputOrders output_orders(const Alignment& alignment, const std::vector<Slot>& slots,
                           const std::vector<PlacedDirection>& placed) {
  std::vector<int> on_output;
  for (std::size_t l = 0; l < placed.size() && alignment.projection; ++l) {
    const Home& home = placed[l].home;
    if (divided(alignment, placed[l].column)) continue;  // O[i/2]: the conditions decide
    bool output = false;
    for (std::size_t s = 0; s < slots.size(); ++s)
      output = output || ((home.slots() >> s & 1U) != 0 && (slots[s].uses & 1U) != 0);
    if (output && !home.partial) on_output.push_back(static_cast<int>(l));
  }
  const auto parallels = parallels_of(alignment, placed, std::move(on_output));
  if (!parallels) return {};
  return Enumerator(placed, *parallels).run();
}

}  // namespace isamap
