// SPDX-License-Identifier: Apache-2.0
#pragma once
// Live intervals of a program's buffers, for allocation and register pressure.

#include <set>
#include <vector>

#include "isamap/program.h"

namespace isamap {

/// For each buffer its live interval in leaf positions (numbered in program order); low > high: never used in the body.
/// A buffer used inside a loop and outside it lives throughout the loop; one used only inside a loop body lives inside
/// one iteration. Arguments, ahead-of-time buffers, counters and buffers of roles are always live. Uses by
/// nodes in `ignored` do not count.
std::vector<Interval> live_ranges(const Program& program, const std::set<const Node*>& ignored = {});

/// Registers or bytes of a buffer.
std::int64_t footprint(const Buffer& buffer);

/// Calls `visit` for every reference of a node itself (not of nodes inside it).
template <class Visit>
void for_each_ref(const Node& node, const Visit& visit) {
  if (const auto* call = std::get_if<Call>(&node.is)) {
    for (const Ref& ref : call->operands)
      if (ref.buffer.valid()) visit(ref);
    for (const Ref& ref : call->masks) visit(ref);
    if (call->counter.buffer.valid()) visit(call->counter);
  } else if (const auto* element = std::get_if<Element>(&node.is)) {
    visit(element->write);
    for (const Ref& ref : element->reads)
      if (ref.buffer.valid()) visit(ref);
  } else if (const auto* sync = std::get_if<Sync>(&node.is)) {
    if (sync->counter.buffer.valid()) visit(sync->counter);
  }
}

}  // namespace isamap
