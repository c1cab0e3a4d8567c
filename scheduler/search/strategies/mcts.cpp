// SPDX-License-Identifier: Apache-2.0
// Monte-Carlo tree search over the decisions in order. Selection by upper confidence bounds: Kocsis, Szepesvari,
// "Bandit based Monte-Carlo planning", ECML 2006; for schedules Haj-Ali et al., "ProTuner", 2020. A node has at most as
// many children as the square root of its visits (progressive widening: Coulom 2007), since some decisions have
// hundreds of values. Undecided choices copy the best known point, each redrawn with a small probability: random
// completions are nearly always illegal. Reward: best / cost.

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct TreeSearch {
  std::size_t side;
  double exploration, widening, fresh;
};

struct Branch {
  int value = 0;  ///< value of the decision that leads here
  double visits = 0, rewards = 0;
  std::vector<std::size_t> children;
};

class Tree {
 public:
  Tree(const SearchSpace& space, TreeSearch s) : space_(space), settings_(s), nodes_(1) {}

  /// Path from the root to a leaf, new unless all decisions are made. Each node is charged a visit at once, so that
  /// concurrent selections diverge (virtual loss).
  std::vector<std::size_t> select(const Point& best, Random& random) {
    std::vector<std::size_t> path{0};
    while (path.size() <= space_.decisions().size()) {
      const std::size_t depth = path.size() - 1;
      const std::size_t at = path.back();
      const double room = settings_.widening * std::sqrt(nodes_[at].visits + 1);
      const std::size_t values = space_.decisions()[depth].labels.size();
      if (nodes_[at].children.size() < values && static_cast<double>(nodes_[at].children.size()) < room) {
        path.push_back(grow(at, best.choice[depth], static_cast<int>(values), random));
        break;
      }
      path.push_back(favourite(at));
    }
    for (const std::size_t node : path) nodes_[node].visits += 1;
    return path;
  }

  Point complete(const std::vector<std::size_t>& path, const Point& best, Random& random) const {
    Point point = best;
    for (std::size_t d = 0; d < point.choice.size(); ++d) {
      const std::size_t values = space_.decisions()[d].labels.size();
      if (d + 1 < path.size())
        point.choice[d] = nodes_[path[d + 1]].value;
      else if (random.unit() < settings_.fresh)
        point.choice[d] = space_.decisions()[d].ordered() ? point.choice[d] + (random.unit() < 0.5 ? -1 : 1)
                                                          : static_cast<int>(pick(values, random));
    }
    return space_.repair(std::move(point));
  }

  void reward(const std::vector<std::size_t>& path, double reward) {
    for (const std::size_t node : path) nodes_[node].rewards += reward;
  }

 private:
  /// A child with a new value: the best point's first, then drawn ones.
  std::size_t grow(std::size_t at, int first, int values, Random& random) {
    std::vector<int> left;
    for (int v = 0; v < values; ++v)
      if (std::none_of(nodes_[at].children.begin(), nodes_[at].children.end(),
                       [&](std::size_t c) { return nodes_[c].value == v; }))
        left.push_back(v);
    const bool has_first = std::find(left.begin(), left.end(), first) != left.end();
    nodes_.push_back({has_first ? first : left[pick(left.size(), random)], 0, 0, {}});
    nodes_[at].children.push_back(nodes_.size() - 1);
    return nodes_.size() - 1;
  }

  std::size_t favourite(std::size_t at) const {
    std::size_t best = nodes_[at].children.front();
    double most = -1;
    for (const std::size_t child : nodes_[at].children) {
      const Branch& n = nodes_[child];
      const double bound =
          n.visits > 0
              ? n.rewards / n.visits + settings_.exploration * std::sqrt(std::log(nodes_[at].visits + 1) / n.visits)
              : std::numeric_limits<double>::max();
      if (bound > most) most = bound, best = child;
    }
    return best;
  }

  const SearchSpace& space_;
  TreeSearch settings_;
  std::vector<Branch> nodes_;
};

SearchCoroutine grow_tree(const SearchSpace& space, const History& known, TreeSearch s, Random& random) {
  Tree tree(space, s);
  while (true) {
    const EvaluatedPoint best = *known.best();
    std::vector<std::vector<std::size_t>> paths;
    std::vector<Point> points;
    for (std::size_t i = 0; i < s.side; ++i) {
      paths.push_back(tree.select(best.point, random));
      points.push_back(tree.complete(paths.back(), best.point, random));
    }
    const Costs costs = co_await Evaluate(points);
    for (std::size_t i = 0; i < paths.size(); ++i)
      tree.reward(paths[i], costs[i] && *costs[i] > 0 ? std::min(1.0, best.objective / *costs[i]) : costs[i] ? 1 : 0);
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_mcts(const SearchSpace& space, const StrategyOptions& options,
                                                           std::uint64_t seed) {
  OptionReader read("mcts", options);
  TreeSearch s{};
  const InitialSampling opening = read_opening(read, seed);
  s.side = read.count("side", 4, 1, 64);
  s.exploration = read.number("exploration", 0.2, 0, 100);
  s.widening = read.number("widening", 1, 0.1, 100);
  s.fresh = read.number("fresh", 0.1, 0, 1);
  return make_coroutine_strategy(read, space, opening, s, grow_tree);
}

}  // namespace isamap
