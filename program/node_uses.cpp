// SPDX-License-Identifier: Apache-2.0
#include "program/node_uses.h"

#include "support/overloaded.h"

namespace isamap {
namespace {

void add(const Ref& ref, bool written, NodeUses& uses) {
  if (ref.buffer.valid()) (written ? uses.written : uses.read).insert(ref.buffer);
}

void find_uses(const Node& node, NodeUses& uses) {
  std::visit(overloaded{[&](const Loop& loop) {
                          uses.variables.insert(loop.variable);
                          for (const Node& one : loop.body) find_uses(one, uses);
                        },
                        [&](const Call& call) {
                          for (std::size_t i = 0; i < call.operands.size(); ++i) add(call.operands[i], i == 0, uses);
                          for (const Ref& mask : call.masks) add(mask, false, uses);
                          uses.extents.insert(call.extents.begin(), call.extents.end());
                        },
                        [&](const Element& element) {
                          add(element.write, true, uses);
                          for (const Ref& read : element.reads) add(read, false, uses);
                        },
                        [](const Comment&) {}, [&](const auto&) { uses.plain = false; }},
             node.is);
}

}  // namespace

NodeUses uses_of(const Node& node) {
  NodeUses uses;
  find_uses(node, uses);
  return uses;
}

}  // namespace isamap
