// SPDX-License-Identifier: Apache-2.0
// Monte-Carlo tree search over the decisions in order. Selection by upper confidence bounds: Kocsis, Szepesvari,
// "Bandit based Monte-Carlo planning", ECML 2006; for schedules Haj-Ali et al., "ProTuner", 2020. A node has at most as
// many children that are not yet decided to the end as the square root of its visits, and at least one while there are
// values (progressive widening: Coulom 2007), since some decisions have hundreds of values. Undecided choices copy the
// best known point, each redrawn with a small probability: random completions are nearly always illegal. Reward: best /
// cost.

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/search/strategy_coroutine.h"

namespace isamap {

namespace {

struct TreeSearch {
  std::size_t side, renewals;
  double exploration, widening, fresh;
};

struct Branch {
  int value = 0;  ///< value of the decision that leads here
  double visits = 0, rewards = 0;
  bool closed = false;  ///< all points below are known
  std::vector<std::size_t> children = {};
};

using Path = std::vector<std::size_t>;  ///< nodes from the root on

class Tree {
 public:
  Tree(const SearchSpace& space, TreeSearch s) : space_(space), settings_(s), nodes_(1) {}

  /// Path from the root to a leaf, new unless all decisions are made; such a leaf is selected once. Each node is
  /// charged a visit at once, so that concurrent selections diverge (virtual loss). Empty: the tree has no other leaf.
  Path select(const Point& best, Random& random) {
    if (nodes_.front().closed) return {};
    Path path{0};
    while (!is_whole(path)) {
      const std::size_t depth = path.size() - 1;
      const std::size_t at = path.back();
      const auto values = static_cast<int>(values_at(depth));
      if (has_room(at, values)) {
        path.push_back(grow(at, best.choice[depth], values, random));
        break;
      }
      path.push_back(favourite(at));
    }
    for (const std::size_t node : path) nodes_[node].visits += 1;
    if (is_whole(path)) close(path);
    return path;
  }

  /// Are all decisions made?
  bool is_whole(const Path& path) const { return path.size() > space_.decisions().size(); }

  /// Undecided choices are those of `best`, each redrawn with probability `fresh`.
  Point complete(const Path& path, const Point& best, double fresh, Random& random) const {
    Point point = best;
    for (std::size_t d = 0; d < point.choice.size(); ++d) {
      if (d + 1 < path.size())
        point.choice[d] = nodes_[path[d + 1]].value;
      else if (random.unit() < fresh)
        point.choice[d] = space_.decisions()[d].ordered() ? point.choice[d] + (random.unit() < 0.5 ? -1 : 1)
                                                          : static_cast<int>(pick(values_at(d), random));
    }
    return space_.repair(std::move(point));
  }

  void reward(const Path& path, double reward) {
    for (const std::size_t node : path) nodes_[node].rewards += reward;
  }

 private:
  std::size_t values_at(std::size_t decision) const { return space_.decisions()[decision].labels.size(); }

  bool has_room(std::size_t at, int values) const {
    const Branch& node = nodes_[at];
    if (static_cast<int>(node.children.size()) == values) return false;
    const auto open = std::count_if(node.children.begin(), node.children.end(),
                                    [&](std::size_t child) { return !nodes_[child].closed; });
    return open == 0 || static_cast<double>(open) < settings_.widening * std::sqrt(node.visits + 1);
  }

  /// A child with a new value: the best point's first, then drawn ones.
  std::size_t grow(std::size_t at, int first, int values, Random& random) {
    std::vector<char> used(static_cast<std::size_t>(values), 0);
    for (const std::size_t child : nodes_[at].children) used[static_cast<std::size_t>(nodes_[child].value)] = 1;
    std::vector<int> left;
    for (int v = 0; v < values; ++v)
      if (used[static_cast<std::size_t>(v)] == 0) left.push_back(v);
    const bool has_first = std::find(left.begin(), left.end(), first) != left.end();
    nodes_.push_back({has_first ? first : left[pick(left.size(), random)]});
    nodes_[at].children.push_back(nodes_.size() - 1);
    return nodes_.size() - 1;
  }

  /// Of the open children.
  std::size_t favourite(std::size_t at) const {
    std::size_t best = nodes_[at].children.front();
    double most = -1;
    const double weight = settings_.exploration * std::sqrt(std::log(nodes_[at].visits + 1));
    for (const std::size_t child : nodes_[at].children) {
      const Branch& n = nodes_[child];
      if (n.closed) continue;
      const double bound =
          n.visits > 0 ? n.rewards / n.visits + weight / std::sqrt(n.visits) : std::numeric_limits<double>::max();
      if (bound > most) most = bound, best = child;
    }
    return best;
  }

  /// A leaf with all decisions made, and the nodes above that have no other one.
  void close(const Path& path) {
    nodes_[path.back()].closed = true;
    for (std::size_t depth = path.size() - 1; depth-- > 0;) {
      Branch& node = nodes_[path[depth]];
      node.closed = node.children.size() == values_at(depth) &&
                    std::all_of(node.children.begin(), node.children.end(),
                                [&](std::size_t child) { return nodes_[child].closed; });
      if (!node.closed) return;
    }
  }

  const SearchSpace& space_;
  TreeSearch settings_;
  std::vector<Branch> nodes_;
};

/// A completion of the path that is not known, if one is drawn; ever more choices are redrawn.
Point new_completion(const Tree& tree, const History& known, const Path& path, const Point& best, const TreeSearch& s,
                     Random random) {
  Point point = tree.complete(path, best, s.fresh, random);
  for (std::size_t tries = 0; tries < s.renewals && !tree.is_whole(path) && known.find(point); ++tries)
    point = tree.complete(path, best, s.fresh * static_cast<double>(tries + 2), random);
  return point;
}

SearchCoroutine grow_tree(const SearchSpace& space, const History& known, TreeSearch s, Random& random) {
  Tree tree(space, s);
  while (true) {
    const EvaluatedPoint best = *known.best();
    std::vector<Path> paths;
    while (paths.size() < s.side) {
      Path path = tree.select(best.point, random);
      if (path.empty()) break;
      paths.push_back(std::move(path));
    }
    if (paths.empty()) co_return;
    const std::uint64_t batch = random.next();
    std::vector<Point> points(paths.size());
    const PointMaker complete = [&](std::size_t i) -> std::optional<Point> {
      points[i] = new_completion(tree, known, paths[i], best.point, s, Random(batch ^ i));
      return points[i];
    };
    co_await EvaluateMade(paths.size(), complete);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const std::optional<double>* told = known.find(points[i]);  // null: beyond the budget
      if (told && *told) tree.reward(paths[i], **told > 0 ? std::min(1.0, best.objective / **told) : 1);
    }
  }
}

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_mcts(const SearchSpace& space, const StrategyOptions& options,
                                                           std::uint64_t seed) {
  OptionReader read("mcts", options);
  TreeSearch s{};
  InitialSampling opening = read_opening(read, seed);
  s.side = read.count("side", 16, 1, 1000);
  s.renewals = read.count("renewals", 8, 0, 1000);
  s.exploration = read.number("exploration", 0.2, 0, 100);
  s.widening = read.number("widening", 1, 0.1, 100);
  s.fresh = read.number("fresh", 0.1, 0, 1);
  opening.patience = batches_of_patience(opening, s.side);
  return make_coroutine_strategy(read, space, opening, s, grow_tree);
}

}  // namespace isamap
