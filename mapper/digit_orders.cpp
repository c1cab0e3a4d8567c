#include "mapper/digit_orders.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace isamap {
namespace {

constexpr std::size_t kMaxSupport = 16;
constexpr std::size_t kMaxVariants = 64;

/// Steps of the output's indices. Indices with divisions only tell elements further apart.
IntVector image_of(const Alignment& alignment, const IntVector& column) {
  IntVector image;
  for (const IndexRow& row : alignment.rows[0]) {
    if (!row.linear) continue;
    image.push_back(std::inner_product(column.begin(), column.end(), row.coefficients.begin(), std::int64_t{0}));
  }
  return image;
}

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

/// Directions without some, completed to a basis of Q^n by unit directions of least index, earliest first. Only the
/// combined directions matter: unit directions settle their own coordinate.
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
    if (support.size() <= kMaxSupport) choose(placed, support);
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
    std::int64_t rest = column[d];
    for (std::size_t k = 0; k < combined_.size(); ++k)
      rest -= factors[k] * placed[static_cast<std::size_t>(combined_[k])].column[d];
    return rest;
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

  /// The coordinates that unit directions do not settle: the latest of those with the smallest determinant.
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

/// Pairs of parallel images; nothing when three are parallel, or images depend on each other in another way.
std::optional<std::vector<Pair>> parallel_pairs(const Alignment& alignment, const std::vector<PlacedDirection>& placed,
                                                const std::vector<int>& on_output) {
  std::vector<Pair> pairs;
  std::vector<IntVector> representatives;
  std::vector<bool> paired(placed.size(), false);
  for (std::size_t i = 0; i < on_output.size(); ++i) {
    const int a = on_output[i];
    if (paired[static_cast<std::size_t>(a)]) continue;
    const IntVector u = image_of(alignment, placed[static_cast<std::size_t>(a)].column);
    representatives.push_back(u);
    int others = 0;
    for (std::size_t j = i + 1; j < on_output.size(); ++j) {
      const int b = on_output[j];
      if (independent({u, image_of(alignment, placed[static_cast<std::size_t>(b)].column)})) continue;
      paired[static_cast<std::size_t>(b)] = true;
      pairs.push_back({a, b});
      if (++others > 1) return std::nullopt;
    }
  }
  if (!independent(representatives)) return std::nullopt;
  return pairs;
}

class Enumerator {
 public:
  Enumerator(const Alignment& alignment, const std::vector<PlacedDirection>& placed, std::vector<Pair> pairs)
      : alignment_(alignment), placed_(placed), pairs_(std::move(pairs)) {}

  std::vector<std::vector<Order>> run() {
    choose(0);
    return std::move(found_);
  }

 private:
  const PlacedDirection& at(int l) const { return placed_[static_cast<std::size_t>(l)]; }

  void choose(std::size_t p) {
    if (found_.size() >= kMaxVariants) return;
    if (p == pairs_.size()) {
      if (covers()) found_.push_back(chosen_);
      return;
    }
    for (const auto& [inner, outer] : {Pair{pairs_[p].a, pairs_[p].b}, Pair{pairs_[p].b, pairs_[p].a}}) {
      const auto ratio = multiple(image_of(alignment_, at(outer).column), image_of(alignment_, at(inner).column));
      if (!ratio) continue;
      const bool one_slot = at(inner).home.slot == at(outer).home.slot;
      const bool tied = at(inner).home.tied != 0 || at(outer).home.tied != 0;
      if (!tied && !one_slot) {
        chosen_.push_back({inner, outer, *ratio, false});
        choose(p + 1);
        chosen_.pop_back();
      }
      if (std::abs(*ratio) > 1) {
        chosen_.push_back({inner, outer, *ratio, true});
        choose(p + 1);
        chosen_.pop_back();
      }
    }
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

  const Alignment& alignment_;
  const std::vector<PlacedDirection>& placed_;
  std::vector<Pair> pairs_;
  std::vector<Order> chosen_;
  std::vector<std::vector<Order>> found_;
};

}  // namespace

std::vector<std::vector<Order>> output_orders(const Alignment& alignment, const std::vector<Slot>& slots,
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
  auto pairs = parallel_pairs(alignment, placed, on_output);
  if (!pairs) return {};
  return Enumerator(alignment, placed, std::move(*pairs)).run();
}

}  // namespace isamap
