// SPDX-License-Identifier: Apache-2.0
// Beam search over the decisions: every point of the beam is expanded with values of the next decisions, one of them at
// a time, undecided ones keep their value of a constructed start, and the cheapest `width` survive. After the last
// decision it restarts with the first. For schedules: Adams et al., "Learning to optimize Halide with tree search and
// random programs", SIGGRAPH 2019. Several decisions are one batch, since most of its points are known: those of one
// are too little work to share.

#include <algorithm>

#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct Beam {
  std::size_t width, values, renewals, decisions;
};

/// A point of the beam with other values of one decision, in the order in which they are tried: adjacent numbers, else
/// random ones.
class Expansion {
 public:
  Expansion(const SearchSpace& space, const Point& from, std::size_t decision, Random& random)
      : point_(from), decision_(decision), labels_(static_cast<int>(space.decisions()[decision].labels.size())) {
    up_first_ = random.unit() < 0.5;
    if (space.decisions()[decision].ordered()) return;
    for (int v = 0; v < labels_; ++v)
      if (v != at()) values_.push_back(v);
    shuffle(values_, random);
  }

  std::size_t size() const { return static_cast<std::size_t>(labels_ - 1); }
  /// For a number below the size.
  Point changed(std::size_t number) const {
    Point other = point_;
    other.choice[decision_] = values_.empty() ? at() + distance(static_cast<int>(number)) : values_[number];
    return other;
  }

 private:
  int at() const { return point_.choice[decision_]; }
  /// 1, -1, 2, -2, .. or their negatives, in the domain: behind the end of one side the other one continues alone.
  int distance(int number) const {
    const int below = at(), above = labels_ - 1 - at(), both = std::min(below, above);
    if (number >= 2 * both) return (above > below ? 1 : -1) * (number - both + 1);
    return (number / 2 + 1) * ((number % 2 == 0) == up_first_ ? 1 : -1);
  }

  const Point& point_;
  std::size_t decision_;
  int labels_;
  bool up_first_;
  std::vector<int> values_;  ///< of a decision without order
};

/// Of all points of the beam by some decisions.
std::vector<Expansion> expanded(const SearchSpace& space, const std::vector<EvaluatedPoint>& beam,
                                const std::vector<std::size_t>& decisions, Random& random) {
  std::vector<Expansion> all;
  for (const std::size_t decision : decisions)
    for (const EvaluatedPoint& at : beam)
      if (space.decisions()[decision].labels.size() > 1) all.emplace_back(space, at.point, decision, random);
  return all;
}

/// The point with value `number`, where that is known with one of those behind that no other number begins with.
std::optional<Point> alternative(const SearchSpace& space, const History& known, const Expansion& from, const Beam& s,
                                 std::size_t number) {
  std::optional<Point> found;
  for (std::size_t tries = 0; tries <= s.renewals; ++tries, number += s.values) {
    if (number >= from.size()) break;
    Point other = space.repair(from.changed(number));
    if (!known.find(other)) return other;
    if (!found) found = std::move(other);
  }
  return found;
}

void add_new(std::vector<EvaluatedPoint>& beam, std::vector<EvaluatedPoint> found) {
  for (EvaluatedPoint& one : found)
    if (std::none_of(beam.begin(), beam.end(), [&](const EvaluatedPoint& at) { return at.point == one.point; }))
      beam.push_back(std::move(one));
}

SearchCoroutine widen(const SearchSpace& space, const History& known, Beam s, Random& random) {
  std::vector<EvaluatedPoint> beam = known.cheapest(s.width);
  std::vector<std::size_t> order(space.decisions().size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  while (true) {
    const double before = beam.front().objective;
    for (std::size_t next = 0; next < order.size(); next += s.decisions) {
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(next);
      const auto count = static_cast<std::ptrdiff_t>(std::min(s.decisions, order.size() - next));
      const std::vector<Expansion> expansions = expanded(space, beam, {first, first + count}, random);
      const PointMaker expand = [&](std::size_t i) {
        return alternative(space, known, expansions[i / s.values], s, i % s.values);
      };
      std::vector<EvaluatedPoint> found = co_await EvaluateMade(expansions.size() * s.values, expand);
      add_new(beam, std::move(found));
      sort_by_cost(beam);
      if (beam.size() > s.width) beam.resize(s.width);
    }
    shuffle(order, random);
    if (beam.front().objective < before) continue;
    const std::uint64_t batch = random.next();  // stuck: perturb the beam except for its best
    const PointMaker perturb = [&](std::size_t i) -> std::optional<Point> {
      Random own(batch ^ i);
      return perturbed(space, beam.front().point, 2 + i, own);
    };
    std::vector<EvaluatedPoint> found = co_await EvaluateMade(s.width - 1, perturb);
    beam.resize(std::min(beam.size(), s.width - found.size()));
    add_new(beam, std::move(found));
    sort_by_cost(beam);
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_beam(const SearchSpace& space, const StrategyOptions& options,
                                                           std::uint64_t seed) {
  OptionReader read("beam", options);
  Beam s{};
  InitialSampling opening = read_opening(read, seed);
  s.width = read.count("width", 4, 2, 1000);
  s.values = read.count("values", 4, 1, 1000);
  s.renewals = read.count("renewals", 8, 0, 1000);
  s.decisions = read.count("decisions", 8, 1, 1000);
  opening.patience = batches_of_patience(opening, s.width * s.values * s.decisions);
  return make_coroutine_strategy(read, space, opening, s, widen);
}

}  // namespace isamap
