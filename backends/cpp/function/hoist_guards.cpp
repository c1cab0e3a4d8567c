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
constexpr std::int64_t fewest_steps = 8;  ///< between two borders

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

/// Steps from `first` up to `end` of the loop, with this body: of statements of elements, if anything.
void add_steps(const Loop& loop, std::int64_t first, std::int64_t end, const Nodes& body, Nodes& made) {
  if (first >= end || body.empty()) return;
  Loop part = loop;
  part.trip = end - first;
  part.body = body;
  const std::map<std::string, AffineExpr> by{{loop.variable, AffineExpr::dim(loop.variable) + AffineExpr(first)}};
  const auto move = [&](Ref& ref) {
    for (AffineExpr& e : ref.index) e = substitute(e, by);
  };
  for (Node& node : part.body)
    if (auto* element = std::get_if<Element>(&node.is)) {
      move(element->write);
      std::for_each(element->reads.begin(), element->reads.end(), move);
    }
  made.push_back(Node{std::move(part)});
}

bool only_elements(const Nodes& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return std::holds_alternative<Element>(node.is) || std::holds_alternative<Comment>(node.is);
  });
}

/// `if (a <= v < b)` in a loop over v: the steps before a, those up to b, those behind. Nothing: it is no such loop.
std::optional<Nodes> split_at_borders(const Loop& loop) {
  const auto* guard = loop.body.size() == 1 ? std::get_if<Guard>(&loop.body.front().is) : nullptr;
  if (guard == nullptr || !guard->role.empty() || !only_elements(guard->then) || !only_elements(guard->otherwise))
    return std::nullopt;
  std::int64_t first = 0, end = loop.trip;
  for (const AffineExpr& condition : guard->conditions) {
    const std::int64_t sign = condition.coefficient(loop.variable);
    const AffineExpr rest = condition - sign * AffineExpr::dim(loop.variable);
    if (!rest.is_constant() || (sign != 1 && sign != -1)) return std::nullopt;
    if (sign == 1)
      first = std::max(first, -rest.constant());
    else
      end = std::min(end, rest.constant() + 1);
  }
  if (end - first < fewest_steps) return std::nullopt;
  Nodes made;
  add_steps(loop, 0, first, guard->otherwise, made);
  add_steps(loop, first, end, guard->then, made);
  add_steps(loop, end, loop.trip, guard->otherwise, made);
  return made;
}

/// The loops of `nodes`, and those of their guards, split at borders.
Nodes split_loops(Nodes nodes) {
  Nodes made;
  for (Node& node : nodes) {
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      guard->then = split_loops(std::move(guard->then));
      guard->otherwise = split_loops(std::move(guard->otherwise));
    } else if (const auto* loop = std::get_if<Loop>(&node.is)) {
      if (auto parts = split_at_borders(*loop)) {
        std::move(parts->begin(), parts->end(), std::back_inserter(made));
        continue;
      }
    }
    made.push_back(std::move(node));
  }
  return made;
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
          *better = split_loops(std::move(*better));
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
