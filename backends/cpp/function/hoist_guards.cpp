// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/hoist_guards.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

namespace isamap {
namespace {

constexpr int most_copies = 4;

using Nodes = std::vector<Node>;

/// A known outcome of a condition e >= 0.
struct Known {
  AffineExpr condition;
  bool holds = false;
};

/// Does the outcome of e >= 0 imply that of another condition?
std::optional<bool> decided(const AffineExpr& condition, const Known& known) {
  const AffineExpr difference = condition - known.condition;
  if (!difference.is_constant()) return std::nullopt;
  if (known.holds && difference.constant() >= 0) return true;
  if (!known.holds && difference.constant() <= 0) return false;
  return std::nullopt;
}

Nodes decide(const Nodes& nodes, const Known& known) {
  Nodes made;
  for (const Node& node : nodes) {
    const auto* guard = std::get_if<Guard>(&node.is);
    if (guard == nullptr || !guard->role.empty()) {
      made.push_back(node);
      continue;
    }
    Guard left{{}, decide(guard->then, known), decide(guard->otherwise, known), {}};
    bool fails = false;
    for (const AffineExpr& condition : guard->conditions) {
      const auto is = decided(condition, known);
      if (!is) left.conditions.push_back(condition);
      fails = fails || is == false;
    }
    if (!fails && !left.conditions.empty()) {
      if (!left.then.empty() || !left.otherwise.empty()) made.push_back(Node{std::move(left)});
      continue;
    }
    Nodes& taken = fails ? left.otherwise : left.then;
    std::move(taken.begin(), taken.end(), std::back_inserter(made));
  }
  return made;
}

/// The loop-invariant conditions of all guards.
void collect(const Nodes& nodes, const std::string& variable, std::vector<AffineExpr>& found) {
  for (const Node& node : nodes) {
    const auto* guard = std::get_if<Guard>(&node.is);
    if (guard == nullptr || !guard->role.empty()) continue;
    for (const AffineExpr& e : guard->conditions)
      if (!e.names().contains(variable) && std::find(found.begin(), found.end(), e) == found.end()) found.push_back(e);
    collect(guard->then, variable, found);
    collect(guard->otherwise, variable, found);
  }
}

/// The condition that implies most others.
const AffineExpr& most_deciding(const std::vector<AffineExpr>& conditions) {
  const auto decides = [&](const AffineExpr& e) {
    std::ptrdiff_t fewest = static_cast<std::ptrdiff_t>(conditions.size());
    for (const bool holds : {false, true})
      fewest = std::min(fewest, std::count_if(conditions.begin(), conditions.end(), [&](const AffineExpr& other) {
                          return decided(other, {e, holds}).has_value();
                        }));
    return fewest;
  };
  return *std::max_element(conditions.begin(), conditions.end(),
                           [&](const AffineExpr& a, const AffineExpr& b) { return decides(a) < decides(b); });
}

/// Nothing: it needs more than `copies`, which is decremented for each copy.
std::optional<Nodes> hoisted(const Loop& loop, int& copies) {
  if (loop.body.empty()) return Nodes{};
  std::vector<AffineExpr> conditions;
  collect(loop.body, loop.variable, conditions);
  if (conditions.empty()) {
    if (--copies < 0) return std::nullopt;
    return Nodes{Node{loop}};
  }
  const AffineExpr& condition = most_deciding(conditions);
  Guard guard{{condition}, {}, {}, {}};
  for (const bool holds : {true, false}) {
    Loop copy = loop;
    copy.body = decide(loop.body, {condition, holds});
    auto made = hoisted(copy, copies);
    if (!made) return std::nullopt;
    (holds ? guard.then : guard.otherwise) = *std::move(made);
  }
  return Nodes{Node{std::move(guard)}};
}

bool has_loops(const Nodes& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    if (std::holds_alternative<Loop>(node.is)) return true;
    const auto* guard = std::get_if<Guard>(&node.is);
    return guard != nullptr && (has_loops(guard->then) || has_loops(guard->otherwise));
  });
}

}  // namespace

std::vector<Node> hoist_guards(std::vector<Node> nodes) {
  Nodes made;
  for (Node& node : nodes) {
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      guard->then = hoist_guards(std::move(guard->then));
      guard->otherwise = hoist_guards(std::move(guard->otherwise));
    } else if (auto* loop = std::get_if<Loop>(&node.is)) {
      if (has_loops(loop->body) || !loop->unit.empty()) {
        loop->body = hoist_guards(std::move(loop->body));
      } else {
        int copies = most_copies;
        if (auto better = hoisted(*loop, copies)) {
          std::move(better->begin(), better->end(), std::back_inserter(made));
          continue;
        }
      }
    }
    made.push_back(std::move(node));
  }
  return made;
}

}  // namespace isamap
