// SPDX-License-Identifier: Apache-2.0
#include "mapper/proof/differences.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "support/arithmetic.h"

namespace isamap {
namespace {

/// Digits that share an instruction dim or a row: differences of one group are independent of those of another.
std::vector<std::vector<std::size_t>> groups_of(const std::vector<DigitStep>& digit_steps,
                                                const std::vector<IntVector>& given) {
  std::vector<std::size_t> group(digit_steps.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto join = [&](std::size_t a, std::size_t b) {
    std::replace(group.begin(), group.end(), std::size_t{group[a]}, std::size_t{group[b]});
  };
  for (std::size_t a = 0; a < digit_steps.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool together =
          std::any_of(given.begin(), given.end(), [&](const IntVector& row) { return row[a] != 0 && row[b] != 0; });
      if (together || (digit_steps[a].dims() & digit_steps[b].dims()) != 0) join(a, b);
    }
  }
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t g = 0; g < digit_steps.size(); ++g) {
    std::vector<std::size_t> members;
    for (std::size_t w = 0; w < digit_steps.size(); ++w)
      if (group[w] == g && digit_steps[w].extent > 1) members.push_back(w);
    if (!members.empty()) groups.push_back(std::move(members));
  }
  return groups;
}

/// Depth-first search over the differences of one group of digits.
class Differences {
 public:
  Differences(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
              const std::vector<IntVector>& given, const std::vector<IntVector>& implied)
      : alignment_(alignment),
        digit_steps_(digit_steps),
        given_(given),
        implied_(implied),
        steps_(digit_steps.size(), 0) {}

  Truth decide(const std::vector<std::size_t>& group) {
    group_ = &group;
    truth_ = Truth::yes;
    moved_.clear();
    for (const IntVector& row : implied_)
      if (std::any_of(group.begin(), group.end(), [&](std::size_t w) { return row[w] != 0; })) moved_.push_back(&row);
    if (moved_.empty()) return truth_;  // none of its differences moves an implied row
    limits_.clear();
    for (std::size_t m = 0; m < alignment_.instruction_uses.size(); ++m) {
      const auto weight = [&](std::size_t w) {
        const DigitStep::Place* place = digit_steps_[w].on(static_cast<int>(m));
        return place == nullptr ? 0 : place->weight;
      };
      limit(instruction_extent(alignment_, static_cast<int>(m)) - 1, weight);
    }
    for (const IntVector& row : given_) limit(0, [&](std::size_t w) { return row[w]; });
    visit(0);
    return truth_;
  }

 private:
  static constexpr std::int64_t max_visits = 200'000;

  /// A sum over the group that must end within -most..most: the difference of two counters of a dim in one call, or a
  /// row that must not change.
  struct Limit {
    std::int64_t most = 0, sum = 0;
    IntVector weights, remaining;  ///< by position; the most that the positions from there on can add
  };
  template <class WeightOf>
  void limit(std::int64_t most, const WeightOf& weight_of) {
    Limit one{most, 0, {}, IntVector(group_->size() + 1, 0)};
    for (const std::size_t w : *group_) one.weights.push_back(weight_of(w));
    for (std::size_t i = group_->size(); i-- > 0;)
      one.remaining[i] = one.remaining[i + 1] + std::abs(one.weights[i]) * (digit_steps_[(*group_)[i]].extent - 1);
    if (one.remaining[0] > most) limits_.push_back(std::move(one));
  }
  /// The least and largest difference at position i with which every limit can still be kept; none if least > largest.
  /// Computed, not tried: a digit may have 2^31 steps, of which a limit leaves few.
  std::pair<std::int64_t, std::int64_t> steps_within_limits(std::size_t i) const {
    const std::int64_t extent = digit_steps_[(*group_)[i]].extent;
    std::int64_t least = 1 - extent, largest = extent - 1;
    for (const Limit& one : limits_) {
      const std::int64_t weight = std::abs(one.weights[i]), sum = one.weights[i] < 0 ? -one.sum : one.sum;
      if (weight == 0) continue;
      const std::int64_t most = one.most + one.remaining[i + 1];
      least = std::max(least, -floor_div(most + sum, weight));
      largest = std::min(largest, floor_div(most - sum, weight));
    }
    return {least, largest};
  }

  /// Does the difference leave the implied rows unchanged? The given rows are unchanged by their limits.
  bool still() const {
    return std::all_of(moved_.begin(), moved_.end(), [&](const IntVector* row) {
      std::int64_t sum = 0;
      for (const std::size_t w : *group_) sum += (*row)[w] * steps_[w];
      return sum == 0;
    });
  }

  /// Digits `sign * steps` where that is positive, else 0, in the first call and turn: a point of the domain?
  bool active(std::int64_t sign) const {
    const IterationDomain& domain = alignment_.computation().domain;
    const auto digit = [&](std::size_t w) { return std::max<std::int64_t>(sign * steps_[w], 0); };
    for (std::size_t m = 0; m < alignment_.instruction_uses.size(); ++m) {
      std::int64_t counter = 0;
      for (const std::size_t w : *group_)
        if (const DigitStep::Place* place = digit_steps_[w].on(static_cast<int>(m)))
          counter += place->weight * digit(w);
      if (counter >= instruction_extent(alignment_, static_cast<int>(m))) return false;
    }
    std::vector<std::int64_t> x(domain.dims.size(), 0);
    for (std::size_t d = 0; d < x.size(); ++d) {
      for (const std::size_t w : *group_) x[d] += digit_steps_[w].column[d] * digit(w);
      if (x[d] < 0 || x[d] >= domain.dims[d].extent) return false;
    }
    if (domain.faces.empty()) return true;
    std::vector<std::string> names;
    for (const Dim& dim : domain.dims) names.push_back(dim.name);
    return std::all_of(domain.faces.begin(), domain.faces.end(),
                       [&](const AffineExpr& face) { return CompiledAffine(face, names)(x.data()) >= 0; });
  }

  void visit(std::size_t i) {
    if (++visits_ > max_visits) {
      truth_ = Truth::unknown;
      return;
    }
    if (i == group_->size()) {
      if (still()) return;
      truth_ = active(1) && active(-1) ? Truth::no : Truth::unknown;
      return;
    }
    const std::size_t w = (*group_)[i];
    const auto step_to = [&](std::int64_t step) {
      for (Limit& one : limits_) one.sum += one.weights[i] * (step - steps_[w]);
      steps_[w] = step;
    };
    const auto [least, largest] = steps_within_limits(i);
    for (std::int64_t step = least; step <= largest && truth_ != Truth::no && visits_ <= max_visits; ++step) {
      step_to(step);
      visit(i + 1);
    }
    step_to(0);
  }

  const Alignment& alignment_;
  const std::vector<DigitStep>& digit_steps_;
  const std::vector<IntVector>&given_, &implied_;
  const std::vector<std::size_t>* group_ = nullptr;
  std::vector<const IntVector*> moved_;  ///< implied rows that the group moves
  std::vector<std::int64_t> steps_;
  std::vector<Limit> limits_;
  std::int64_t visits_ = 0;
  Truth truth_ = Truth::yes;
};

}  // namespace

Truth decided_by_differences(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                             const std::vector<IntVector>& given, const std::vector<IntVector>& implied) {
  Differences differences(alignment, digit_steps, given, implied);
  Truth truth = Truth::yes;
  for (const std::vector<std::size_t>& group : groups_of(digit_steps, given)) {
    const Truth one = differences.decide(group);
    if (one == Truth::no) return Truth::no;
    if (one == Truth::unknown) truth = Truth::unknown;
  }
  return truth;
}

}  // namespace isamap
