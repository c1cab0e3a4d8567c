// SPDX-License-Identifier: Apache-2.0
#include "verify/joined_programs.h"

#include <functional>

namespace isamap {
namespace {

void renumber(std::vector<Node>& nodes, const std::function<BufferId(BufferId)>& moved) {
  const auto one = [&](Ref& ref) {
    if (ref.buffer.valid()) ref.buffer = moved(ref.buffer);
  };
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.is)) renumber(loop->body, moved);
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      renumber(guard->then, moved);
      renumber(guard->otherwise, moved);
    }
    if (auto* call = std::get_if<Call>(&node.is)) {
      for (Ref& ref : call->operands) one(ref);
      for (Ref& ref : call->masks) one(ref);
      one(call->counter);
    }
    if (auto* element = std::get_if<Element>(&node.is)) {
      one(element->write);
      for (Ref& ref : element->reads) one(ref);
    }
    if (auto* sync = std::get_if<Sync>(&node.is)) one(sync->counter);
  }
}

}  // namespace

Program joined(Program all, const std::vector<Program>& others) {
  for (const Program& other : others) {
    const std::size_t tensors = all.kernel.tensors.size(), buffers = all.buffers.size();
    const auto moved = [&](TensorId id) { return make_id<TensorId>(tensors + id.index()); };
    for (Buffer buffer : other.buffers) {
      if (buffer.tensor.valid()) buffer.tensor = moved(buffer.tensor);
      all.buffers.push_back(std::move(buffer));
    }
    std::vector<Node> body = other.body;
    renumber(body, [&](BufferId id) { return make_id<BufferId>(buffers + id.index()); });
    all.body.insert(all.body.end(), body.begin(), body.end());
    all.kernel.tensors.insert(all.kernel.tensors.end(), other.kernel.tensors.begin(), other.kernel.tensors.end());
    for (Computation statement : other.kernel.statements) {
      statement.write.tensor = moved(statement.write.tensor);
      for (Access& access : statement.reads) access.tensor = moved(access.tensor);
      all.kernel.statements.push_back(std::move(statement));
    }
  }
  // Arguments first, in the order of the kernel.
  std::vector<std::size_t> order;
  for (const TensorId id : arguments(all.kernel))
    for (std::size_t b = 0; b < all.buffers.size(); ++b)
      if (all.buffers[b].role == BufferRole::argument && !all.buffers[b].ahead_of_time && all.buffers[b].tensor == id)
        order.push_back(b);
  std::vector<BufferId> place(all.buffers.size());
  std::vector<Buffer> sorted;
  const auto put = [&](std::size_t b) {
    place[b] = make_id<BufferId>(sorted.size());
    sorted.push_back(all.buffers[b]);
  };
  for (const std::size_t b : order) put(b);
  for (std::size_t b = 0; b < all.buffers.size(); ++b)
    if (!place[b].valid()) put(b);
  all.buffers = std::move(sorted);
  for (std::vector<Node>* nodes : {&all.prepack, &all.body})
    renumber(*nodes, [&](BufferId id) { return place[id.index()]; });
  return all;
}

}  // namespace isamap
