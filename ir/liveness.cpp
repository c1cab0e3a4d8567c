// SPDX-License-Identifier: Apache-2.0
#include "ir/liveness.h"

#include <algorithm>
#include <map>

namespace isamap {

namespace {

constexpr Interval never{1, 0};

Interval hull(const Interval& a, const Interval& b) {
  if (a.low > a.high) return b;
  if (b.low > b.high) return a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

struct UseTimes {
  const std::set<const Node*>& ignored;
  std::int64_t time = 0;
  int roles = 0;                         ///< nesting depth of roles
  std::set<std::int32_t> of_roles = {};  ///< buffers that they access

  using Uses = std::map<std::int32_t, Interval>;

  // Uses of each buffer inside a list, as hulls of the children that use it: a buffer used by two children (or a whole
  // loop) is live between them.
  Uses list(const std::vector<Node>& nodes) {
    Uses uses;
    std::map<std::int32_t, Interval> first_user;
    for (const Node& node : nodes) {
      if (ignored.contains(&node)) continue;
      const std::int64_t begin = time;
      const Uses inside = visit(node);
      const Interval whole{begin, std::max(begin, time - 1)};
      for (const auto& [buffer, interval] : inside) {
        const bool first = !uses.contains(buffer);
        if (first) {
          uses[buffer] = interval;
          first_user[buffer] = whole;
        } else {
          uses[buffer] = hull(hull(uses[buffer], first_user[buffer]), whole);
        }
      }
    }
    return uses;
  }

  Uses visit(const Node& node) {
    Uses uses;
    const auto add = [&](const std::vector<Node>& nodes) {
      for (const auto& [buffer, interval] : list(nodes)) {
        Interval& to = uses.try_emplace(buffer, never).first->second;
        to = hull(to, interval);
      }
    };
    if (const auto* loop = std::get_if<Loop>(&node.is)) {
      add(loop->body);
    } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
      roles += guard->role.empty() ? 0 : 1;
      add(guard->then);
      roles -= guard->role.empty() ? 0 : 1;
      add(guard->otherwise);
    } else {
      for_each_ref(node, [&](const Ref& ref) {
        uses[ref.buffer.value] = {time, time};
        if (roles > 0) of_roles.insert(ref.buffer.value);
      });
      ++time;
    }
    return uses;
  }
};

}  // namespace

std::vector<Interval> live_ranges(const Program& program, const std::set<const Node*>& ignored) {
  std::vector<Interval> live(program.buffers.size(), never);
  UseTimes uses{ignored};
  for (const auto& [buffer, interval] : uses.list(program.body)) live[static_cast<std::size_t>(buffer)] = interval;
  for (std::size_t i = 0; i < live.size(); ++i)
    if (program.buffers[i].role == BufferRole::argument || program.buffers[i].counter ||
        uses.of_roles.contains(static_cast<std::int32_t>(i)))
      live[i] = {0, std::max<std::int64_t>(uses.time, 1)};
  return live;
}

std::int64_t footprint(const Buffer& buffer) {
  if (buffer.slots < 0) return element_span(buffer) * bytes(buffer.dtype);
  std::int64_t registers = buffer.registers_per_slot;
  for (int i = 0; i < buffer.slots; ++i) registers *= buffer.extents[static_cast<std::size_t>(i)];
  return registers;
}

}  // namespace isamap
