// SPDX-License-Identifier: Apache-2.0
#include "program/packed_constants.h"

#include <algorithm>
#include <map>
#include <set>

#include "program/node_uses.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// By other buffers.
void replace_buffers(std::vector<Node>& nodes, const std::map<BufferId, BufferId>& by) {
  const auto replace = [&](Ref& ref) {
    if (const auto found = by.find(ref.buffer); found != by.end()) ref.buffer = found->second;
  };
  for (Node& node : nodes)
    std::visit(overloaded{[&](Loop& loop) { replace_buffers(loop.body, by); },
                          [&](Call& call) {
                            for (Ref& operand : call.operands) replace(operand);
                            for (Ref& mask : call.masks) replace(mask);
                          },
                          [&](Element& element) {
                            replace(element.write);
                            for (Ref& read : element.reads) replace(read);
                          },
                          [](auto&) {}},
               node.is);
}

void drop_comments(std::vector<Node>& nodes) {
  std::erase_if(nodes, [](const Node& node) { return std::holds_alternative<Comment>(node.is); });
  for (Node& node : nodes)
    if (auto* loop = std::get_if<Loop>(&node.is)) drop_comments(loop->body);
}

/// The copies of a program that blocks share.
class ConstantLinker {
 public:
  explicit ConstantLinker(SymbolicProgram& program) : arguments_(program.arguments) {
    for (std::size_t b = 0; b < arguments_.buffers.size(); ++b)
      source_[arguments_.buffers[b].tensor] = make_id<BufferId>(b);
  }

  void link(Grid& grid) {
    for (Block& block : grid.blocks)
      for (PackedConstant& constant : packed_constants(block.program).value_or(std::vector<PackedConstant>{}))
        block.constants[constant.buffer] = place_of(grid.shape, block.program, constant);
    for (Grid& edge : grid.edges) link(edge);
  }

 private:
  struct Known {
    BufferId buffer;
    std::vector<Node> nodes;
  };

  BufferId place_of(const GridShape& shape, const Program& program, PackedConstant& constant) {
    Buffer buffer = program.buffers[constant.buffer.index()];
    buffer.tensor = shape.tensors[program.buffers[constant.source.index()].tensor.index()];
    buffer.address = 0;
    const BufferId source = source_.at(buffer.tensor);
    arguments_.buffers[source.index()].memory = program.buffers[constant.source.index()].memory;
    std::map<BufferId, BufferId> by{{constant.source, source}};
    for (const BufferId local : constant.locals) by[local] = place_of_local(program.buffers[local.index()]);
    for (const Known& one : known_) {
      Buffer other = arguments_.buffers[one.buffer.index()];
      other.name = buffer.name;
      std::vector<Node> nodes = constant.nodes;
      by[constant.buffer] = one.buffer;
      replace_buffers(nodes, by);
      if (other == buffer && nodes == one.nodes) return one.buffer;
    }
    const auto next = make_id<BufferId>(arguments_.buffers.size());
    by[constant.buffer] = next;
    replace_buffers(constant.nodes, by);
    arguments_.prepack.insert(arguments_.prepack.end(), constant.nodes.begin(), constant.nodes.end());
    arguments_.buffers.push_back(std::move(buffer));
    known_.push_back({next, std::move(constant.nodes)});
    return next;
  }

  /// Such as registers by way of which a copy is made. Copies are made one after the other, so that they share these.
  BufferId place_of_local(const Buffer& local) {
    const auto known = std::find(arguments_.buffers.begin(), arguments_.buffers.end(), local);
    const auto place = static_cast<std::size_t>(known - arguments_.buffers.begin());
    if (known == arguments_.buffers.end()) arguments_.buffers.push_back(local);
    return make_id<BufferId>(place);
  }

  Program& arguments_;
  std::map<TensorId, BufferId> source_;
  std::vector<Known> known_;
};

}  // namespace

std::optional<std::vector<PackedConstant>> packed_constants(const Program& program) {
  std::map<BufferId, PackedConstant> found;
  for (const Node& node : program.prepack) {
    if (std::holds_alternative<Comment>(node.is)) continue;
    const NodeUses uses = uses_of(node);
    BufferId filled, source;
    std::set<BufferId> locals;
    bool good = uses.plain;
    for (const bool written : {true, false})
      for (const BufferId id : written ? uses.written : uses.read) {
        const Buffer& buffer = program.buffers[id.index()];
        if (buffer.role == BufferRole::local && !buffer.ahead_of_time) {
          good = good && !buffer.counter;
          locals.insert(id);
          continue;
        }
        BufferId& place = written ? filled : source;
        good = good && !place.valid() && buffer.ahead_of_time == written;
        place = id;
      }
    if (!good || !filled.valid()) return std::nullopt;
    PackedConstant& constant = found.try_emplace(filled, PackedConstant{filled, source, {}, {}}).first->second;
    if (!constant.source.valid()) constant.source = source;
    if (source.valid() && source != constant.source) return std::nullopt;
    constant.locals.insert(locals.begin(), locals.end());
    constant.nodes.push_back(node);
  }
  std::vector<PackedConstant> constants;
  for (auto& [buffer, constant] : found) {
    const auto is_source = [&](const PackedConstant& other) { return other.source == constant.source; };
    if (!constant.source.valid() || std::any_of(constants.begin(), constants.end(), is_source)) return std::nullopt;
    drop_comments(constant.nodes);
    constants.push_back(std::move(constant));
  }
  return constants;
}

void share_packed_constants(SymbolicProgram& program) {
  ConstantLinker linker(program);
  for (Grid& grid : program.grids) linker.link(grid);
}

}  // namespace isamap
