// SPDX-License-Identifier: Apache-2.0
// Views of a point that searches work with: a genome that changes and recombines, and numbers that models learn from.
// Both need only names and labels of the decisions, so they hold for any space.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "scheduler/point_check.h"
#include "scheduler/point_form.h"
#include "scheduler/register_tile.h"
#include "support/random.h"

namespace isamap {

namespace {

constexpr std::size_t most_one_hot = 16;  ///< values that get a feature each; more say too little each

/// What a decision is about: "level 0 i" and "registers i" are about i. Genes of one dim work together.
std::string subject(const Decision& decision) {
  const auto blank = decision.name.rfind(' ');
  return blank == std::string::npos ? decision.name : decision.name.substr(blank + 1);
}

double log2_of_label(const std::string& label, double most) {
  const double value = std::strtod(label.c_str(), nullptr);
  return std::log2(std::clamp(value, 1.0, std::max(most, 1.0)));
}

/// The last label of a tile stands for "all": no more than the size of the dim.
double most_of(const SearchSpace& space, const Decision& decision) {
  for (const Dim& dim : space.kernel().statements[space.statement().index()].domain.dims)
    if (dim.name == subject(decision)) return static_cast<double>(dim.extent);
  return 1 << 20;
}

bool one_hot(const Decision& decision) { return !decision.ordered && decision.labels.size() <= most_one_hot; }

}  // namespace

Point changed_choice(const std::vector<Decision>& decisions, Point point, Random& random) {
  std::vector<std::size_t> free;
  for (std::size_t d = 0; d < decisions.size(); ++d)
    if (decisions[d].labels.size() > 1) free.push_back(d);
  if (free.empty()) return point;
  const std::size_t d = free[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(free.size()) - 1))];
  const int last = static_cast<int>(decisions[d].labels.size()) - 1;
  int& choice = point.choice[d];
  if (decisions[d].ordered && random.unit() < 0.8) {
    choice += random.unit() < 0.5 ? -1 : 1;
  } else {
    const int drawn = static_cast<int>(random.between(0, last - 1));
    choice = drawn < choice ? drawn : drawn + 1;  // any value but the present one
  }
  return point;
}

Point SearchSpace::mutate(const Point& given, std::uint64_t seed) const {
  if (mappings().empty()) return repair(given);
  const Point point = in_space(given, decisions()) ? given : repair(given);
  constexpr int most_draws = 64;  // repair may undo a change
  Random random(seed);
  for (int draw = 0; draw < most_draws; ++draw) {
    Point other = repair(form().changed(point, random));
    if (!(other == point)) return other;
  }
  return point;
}

Point SearchSpace::crossover(const Point& one, const Point& other, std::uint64_t seed) const {
  const Point a = in_space(one, decisions()) ? one : repair(one);
  const Point b = in_space(other, decisions()) ? other : repair(other);
  Random random(seed);
  std::vector<std::pair<std::string, bool>> sides;  // subject -> from b
  const auto side = [&](const std::string& of) {
    for (const auto& [name, from_b] : sides)
      if (name == of) return from_b;
    return sides.emplace_back(of, random.unit() < 0.5).second;
  };
  Point child = a;
  for (std::size_t d = 0; d < child.choice.size(); ++d) {
    const bool together = side(subject(decisions()[d]));
    const bool alone = random.unit() < 0.1;
    if (together != alone) child.choice[d] = b.choice[d];
  }
  return repair(std::move(child));
}

std::vector<std::string> SearchSpace::feature_names() const {
  std::vector<std::string> names{"mapping utilisation", "mapping log2 least cycles"};
  for (const Decision& decision : decisions()) {
    if (decision.ordered) names.push_back("log2 " + decision.name);
    if (!one_hot(decision)) continue;
    for (const std::string& label : decision.labels) names.push_back(decision.name + " = " + label);
  }
  return names;
}

std::vector<double> SearchSpace::features(const Point& given) const {
  const Point point = in_space(given, decisions()) ? given : repair(given);
  const Mapping& mapping = mapping_of(point);
  const double least = least_cycles(kernel().statements[statement().index()], mapping, model());
  std::vector<double> values{mapping.utilisation, std::log2(std::max(least, 1.0))};
  for (std::size_t d = 0; d < decisions().size(); ++d) {
    const Decision& decision = decisions()[d];
    if (decision.ordered)
      values.push_back(
          log2_of_label(decision.labels[static_cast<std::size_t>(point.choice[d])], most_of(*this, decision)));
    if (!one_hot(decision)) continue;
    for (std::size_t l = 0; l < decision.labels.size(); ++l)
      values.push_back(point.choice[d] == static_cast<int>(l) ? 1 : 0);
  }
  return values;
}

}  // namespace isamap
