// SPDX-License-Identifier: Apache-2.0
#include "program/shared_copies.h"

#include <algorithm>
#include <set>

#include "program/node_uses.h"

namespace isamap {
namespace {

class CopyFinder {
 public:
  CopyFinder(const Block& block, const GridShape& shape) : block_(block), shape_(shape) {}

  std::vector<SharedCopy> run() {
    const std::vector<Node>& body = block_.program.body;
    for (const Node& node : body) uses_.push_back(uses_of(node));
    std::size_t head = 0;
    while (head < body.size() && fills_one(uses_[head])) ++head;
    std::vector<SharedCopy> copies;
    for (std::size_t n = 0; n < head; ++n)
      if (!uses_[n].written.empty()) take(n, copies);
    std::vector<SharedCopy> shared;
    std::set<TensorId> taken;
    for (SharedCopy& copy : copies)
      if (is_shared(copy, head) && taken.insert(copy.tensor).second) shared.push_back(std::move(copy));
    return shared;
  }

 private:
  const Buffer& buffer(BufferId id) const { return block_.program.buffers[id.index()]; }

  /// Writes one local array in memory, or nothing, and reads one input at most.
  bool fills_one(const NodeUses& uses) const {
    if (!uses.plain || uses.written.size() > 1 || uses.read.size() > 1) return false;
    const auto is_array = [&](BufferId id) {
      return buffer(id).role == BufferRole::local && buffer(id).slots < 0 && !buffer(id).counter;
    };
    const auto is_input = [&](BufferId id) {
      return buffer(id).role == BufferRole::argument && !buffer(id).ahead_of_time &&
             role_of(block_.program.kernel, buffer(id).tensor) == Role::input;
    };
    return std::all_of(uses.written.begin(), uses.written.end(), is_array) &&
           std::all_of(uses.read.begin(), uses.read.end(), is_input);
  }
  void take(std::size_t node, std::vector<SharedCopy>& copies) const {
    const BufferId id = *uses_[node].written.begin();
    auto copy = std::find_if(copies.begin(), copies.end(), [&](const SharedCopy& one) { return one.buffer == id; });
    if (copy == copies.end()) copy = copies.insert(copies.end(), {id, {}, {}});
    copy->nodes.push_back(node);
  }
  /// One source, written nowhere else, and nothing in it depends on axes along which the source does not move.
  bool is_shared(SharedCopy& copy, std::size_t head) const {
    for (std::size_t n = head; n < uses_.size(); ++n)
      if (uses_[n].written.contains(copy.buffer)) return false;
    std::set<TensorId> sources;
    for (const std::size_t n : copy.nodes)
      for (const BufferId id : uses_[n].read) sources.insert(buffer(id).tensor);
    if (sources.size() != 1) return false;
    copy.tensor = *sources.begin();
    const std::vector<int> axes = axes_of(shape_, copy.tensor);
    const auto moves = [&](int axis) { return axis < 0 || std::find(axes.begin(), axes.end(), axis) != axes.end(); };
    for (const std::size_t n : copy.nodes) {
      for (const std::string& variable : uses_[n].variables)
        if (const auto loop = block_.loops.find(variable); loop != block_.loops.end() && !moves(loop->second.axis))
          return false;
      for (const std::int64_t extent : uses_[n].extents)
        if (const auto mask = block_.masked.find(extent); mask != block_.masked.end() && !moves(mask->second.first))
          return false;
    }
    const auto grown = block_.grown.find(copy.buffer);
    return grown == block_.grown.end() || std::all_of(grown->second.begin(), grown->second.end(),
                                                      [&](const TileLoop& loop) { return moves(loop.axis); });
  }

  const Block& block_;
  const GridShape& shape_;
  std::vector<NodeUses> uses_;  ///< by node of the body
};

}  // namespace

std::vector<int> axes_of(const GridShape& shape, TensorId tensor) {
  std::set<int> axes;
  for (const AxisMove& move : shape.moves[tensor.index()])
    if (move.axis >= 0) axes.insert(move.axis);
  return {axes.begin(), axes.end()};
}

bool is_kept_constant(const GridShape& shape, TensorId tensor) {
  const std::vector<std::int64_t> ones(shape.axes.size(), 1);
  return shape.kernel.tensors[tensor.index()].constant &&
         !block_kernel(shape, ones, false).tensors[tensor.index()].constant;
}

std::vector<SharedCopy> shared_copies(const Block& block, const GridShape& shape) {
  return CopyFinder(block, shape).run();
}

}  // namespace isamap
