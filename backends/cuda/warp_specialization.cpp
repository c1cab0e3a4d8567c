// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/warp_specialization.h"

#include <algorithm>

#include "support/overloaded.h"

namespace isamap {
namespace {

void collect(const std::vector<Node>& nodes, std::vector<std::string>& names) {
  for (const Node& node : nodes) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) collect(loop->body, names);
    const auto* guard = std::get_if<Guard>(&node.is);
    if (guard == nullptr) continue;
    if (!guard->role.empty() && std::find(names.begin(), names.end(), guard->role) == names.end())
      names.push_back(guard->role);
    collect(guard->then, names);
    collect(guard->otherwise, names);
  }
}

/// `for v in 8 { if (5 - v >= 0) .. }` becomes `for v in 6 { .. }`.
Loop shortened(Loop loop) {
  while (loop.body.size() == 1 && loop.unit.empty()) {
    auto* guard = std::get_if<Guard>(&loop.body.front().is);
    if (guard == nullptr || guard->conditions.size() != 1 || !guard->otherwise.empty()) break;
    const AffineExpr& condition = guard->conditions[0];
    if (condition != AffineExpr(condition.constant()) - AffineExpr::dim(loop.variable)) break;
    loop.trip = std::clamp<std::int64_t>(condition.constant() + 1, 0, loop.trip);
    std::vector<Node> inside = std::move(guard->then);
    loop.body = std::move(inside);
  }
  return loop;
}

std::vector<Node> part(const std::vector<Node>& nodes, const std::string& role, bool inside) {
  std::vector<Node> out;
  for (const Node& node : nodes)
    std::visit(overloaded{[&](const Loop& loop) {
                            Loop copy = loop;
                            copy.body = part(loop.body, role, inside);
                            if (!role.empty()) copy = shortened(std::move(copy));
                            if (!copy.body.empty() && copy.trip > 0) out.push_back(Node{std::move(copy)});
                          },
                          [&](const Guard& guard) {
                            if (!guard.role.empty()) {
                              if (guard.role != role) return;
                              for (Node& child : part(guard.then, role, true)) out.push_back(std::move(child));
                              return;
                            }
                            Guard copy = guard;
                            copy.then = part(guard.then, role, inside);
                            copy.otherwise = part(guard.otherwise, role, inside);
                            if (!copy.then.empty() || !copy.otherwise.empty()) out.push_back(Node{std::move(copy)});
                          },
                          [&](const auto&) {
                            if (inside || role.empty()) out.push_back(node);
                          }},
               node.is);
  return out;
}

}  // namespace

std::vector<std::string> roles_of(const std::vector<Node>& nodes) {
  std::vector<std::string> names;
  collect(nodes, names);
  return names;
}

std::vector<Node> part_of(const std::vector<Node>& nodes, const std::string& role) { return part(nodes, role, false); }

}  // namespace isamap
