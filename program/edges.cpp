// SPDX-License-Identifier: Apache-2.0
#include "program/edges.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/operand_use.h"
#include "ir/symbolic/refusal.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// Two programs side by side, and a third one with the same nodes that is changed where they differ.
class TileComparison {
 public:
  TileComparison(std::int64_t by, const AffineExpr& beyond_n) : by_(by), beyond_(beyond_n) {}

  bool run(const Program& n, const Program& more, MoreTiles& made) {
    good_ = n.buffers.size() == more.buffers.size() && n.prepack == more.prepack;
    for (std::size_t b = 0; good_ && b < n.buffers.size(); ++b) compare(n.buffers[b], more.buffers[b]);
    compare(n.body, more.body, made.program.body);
    made.trips = std::move(trips_);
    return good_;
  }

 private:
  void require(bool condition) { good_ = good_ && condition; }

  void compare(Buffer one, const Buffer& other) {
    if (one.role == BufferRole::argument) one.extents = other.extents, one.strides = other.strides;
    if (one.role == BufferRole::argument) one.address = other.address;
    require(one == other);
  }

  static std::vector<const Node*> without_comments(const std::vector<Node>& nodes) {
    std::vector<const Node*> found;
    for (const Node& node : nodes)
      if (!std::holds_alternative<Comment>(node.is)) found.push_back(&node);
    return found;
  }

  void compare(const std::vector<Node>& n, const std::vector<Node>& more, std::vector<Node>& into) {
    const std::vector<const Node*> a = without_comments(n), b = without_comments(more);
    std::vector<Node*> c;
    for (Node& node : into)
      if (!std::holds_alternative<Comment>(node.is)) c.push_back(&node);
    require(a.size() == b.size() && a.size() == c.size());
    for (std::size_t i = 0; good_ && i < a.size(); ++i) {
      require(a[i]->is.index() == b[i]->is.index());
      if (!good_) return;
      if (const auto* loop = std::get_if<Loop>(&a[i]->is))
        compare(*loop, std::get<Loop>(b[i]->is), std::get<Loop>(c[i]->is));
      else if (const auto* guard = std::get_if<Guard>(&a[i]->is))
        compare(*guard, std::get<Guard>(b[i]->is), std::get<Guard>(c[i]->is));
      else
        require(*a[i] == *b[i]);
    }
  }
  void compare(const Loop& n, const Loop& more, Loop& into) {
    require(n.variable == more.variable && n.unroll == more.unroll && n.unit == more.unit &&
            n.instances == more.instances);
    if (n.trip != more.trip) {
      require(more.trip - n.trip == by_ && !n.unroll);
      trips_[n.variable] = by_;
    }
    compare(n.body, more.body, into.body);
  }
  void compare(const Guard& n, const Guard& more, Guard& into) {
    require(n.role == more.role && n.conditions.size() == more.conditions.size());
    for (std::size_t c = 0; good_ && c < n.conditions.size(); ++c) {
      const AffineExpr change = more.conditions[c] - n.conditions[c];
      require(change.is_constant() && change.constant() % by_ == 0);
      if (good_ && change.constant() != 0) into.conditions[c] += beyond_ * (change.constant() / by_);
    }
    compare(n.then, more.then, into.then);
    compare(n.otherwise, more.otherwise, into.otherwise);
  }

  std::int64_t by_;
  AffineExpr beyond_;
  std::map<std::string, std::int64_t> trips_;
  bool good_ = true;
};

/// Puts guards around accesses.
class EdgeGuards {
 public:
  EdgeGuards(const Program& program, const HardwareModel& model, const EdgesOf& edges,
             const std::map<BufferId, std::vector<std::int64_t>>& multiples)
      : program_(program), model_(model), edges_(edges), multiples_(multiples) {}

  std::vector<Node> list(const std::vector<Node>& nodes) {
    std::vector<Node> out;
    for (const Node& node : nodes)
      std::visit(overloaded{[&](const Loop& loop) {
                              Loop copy = loop;
                              copy.body = list(loop.body);
                              out.push_back(Node{std::move(copy)});
                            },
                            [&](const Guard& guard) {
                              Guard copy = guard;
                              copy.then = list(guard.then);
                              copy.otherwise = list(guard.otherwise);
                              out.push_back(Node{std::move(copy)});
                            },
                            [&](const Element& element) { out.push_back(guarded(element)); },
                            [&](const Call& call) { out.push_back(guarded(call)); },
                            [&](const auto&) { out.push_back(node); }},
                 node.is);
    return out;
  }

  Diagnostics problems;

 private:
  const std::vector<AffineExpr>* edges(const Ref& ref) const {
    const auto found = ref.buffer.valid() ? edges_.find(ref.buffer) : edges_.end();
    return found == edges_.end() ? nullptr : &found->second;
  }
  void fail(const std::string& what) {
    if (problems.empty()) problems.push_back(error(refused_for_all_sizes(what), "bind sizes with --sizes"));
  }
  static void add(std::vector<AffineExpr>& conditions, const AffineExpr& e) {
    if (std::find(conditions.begin(), conditions.end(), e) == conditions.end()) conditions.push_back(e);
  }

  /// Inside of the extents.
  void conditions(const Ref& ref, std::vector<AffineExpr>& found) const {
    if (const auto* extents = edges(ref))
      for (std::size_t d = 0; d < extents->size(); ++d)
        if (!(*extents)[d].is_constant()) add(found, (*extents)[d] - 1 - ref.index[d]);
  }

  Node guarded(const Element& element) {
    Guard guard;
    const bool stores = edges(element.write) != nullptr;
    conditions(element.write, guard.conditions);
    for (const Ref& read : element.reads) conditions(read, guard.conditions);
    if (guard.conditions.empty()) return Node{element};
    guard.then = {Node{element}};
    if (!stores) {
      const auto* copied = std::get_if<Read>(&element.body.op);
      if (copied == nullptr || element.reduction != Reduction::assign || element.reads.size() != 1) {
        fail("a statement computes with what lies behind an edge");
        return Node{element};
      }
      Element zero = element;
      zero.reads.clear();
      zero.body = constant(0, program_.buffers[element.write.buffer.index()].dtype);
      guard.otherwise = {Node{std::move(zero)}};
    }
    return Node{std::move(guard)};
  }

  Node guarded(const Call& call) {
    const Instruction& instruction = model_.instruction(call.instruction);
    Guard guard;
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const auto* extents = edges(call.operands[i]);
      if (extents == nullptr) continue;
      if (!operand_of(instruction, static_cast<int>(i)).object.empty()) {
        described(call, i, *extents);
        continue;
      }
      for (std::size_t d = 0; d < extents->size(); ++d)
        if (!(*extents)[d].is_constant()) axis(call, i, d, (*extents)[d], guard.conditions);
    }
    if (guard.conditions.empty()) return Node{call};
    guard.then = {Node{call}};
    if (edges(call.operands[0]) == nullptr) {
      if (instruction.inactive != Inactive::zero) {
        fail(fmt::format("'{}' does not fill what lies behind an edge", instruction.name));
        return Node{call};
      }
      guard.otherwise = {Node{filled(call)}};
    }
    return Node{std::move(guard)};
  }

  /// The host tells the machine the extents at the call, behind which it reads zero and stores nothing.
  void described(const Call& call, std::size_t operand, const std::vector<AffineExpr>& extents) {
    const Instruction& instruction = model_.instruction(call.instruction);
    const Operand& taken = operand_of(instruction, static_cast<int>(operand));
    const Buffer& buffer = program_.buffers[call.operands[operand].buffer.index()];
    const auto* layout = std::get_if<StridedLayout>(&taken.layout);
    const bool is_zero = operand == 0 || (taken.outside && *taken.outside == 0);
    if (!is_zero || layout == nullptr)
      return fail(fmt::format("'{}' does not read zero behind an edge of {}", instruction.name, buffer.name));
    if (extents.size() != layout->terms.size())
      return fail(fmt::format("'{}' describes {} with {} axes as rows of {}", instruction.name, buffer.name,
                              extents.size(), layout->terms.size()));
    // Rows begin at multiples of what divides the extents inside.
    std::int64_t pitch = bytes(buffer.dtype), most = 1;
    for (const auto& [term, multiple] : taken.multiple_of) most = std::max(most, multiple);
    const std::vector<std::int64_t>& multiples = multiples_.at(call.operands[operand].buffer);
    for (std::size_t d = extents.size(); d-- > 1;) {
      pitch *= multiples[d];
      if (pitch % most != 0)
        return fail(fmt::format("'{}' needs rows of {} that are multiples of {} bytes; those of axis {} are of {}",
                                instruction.name, buffer.name, most, d - 1, pitch));
    }
  }

  /// The condition for one axis of an operand; of stores where instruction dims index it there is none.
  void axis(const Call& call, std::size_t operand, std::size_t d, const AffineExpr& extent,
            std::vector<AffineExpr>& found) {
    const Instruction& instruction = model_.instruction(call.instruction);
    const AffineExpr& index = call.operands[operand].index[d];
    AffineExpr first = index, last = index;
    std::int64_t count = 1;
    const auto& dims = instruction.statement().domain.dims;
    for (std::size_t x = 0; x < dims.size(); ++x) {
      const std::string name = "$" + dims[x].name;
      if (!index.names().contains(name)) continue;
      if (index.coefficient(name) != 1 || count > 1)
        return fail(fmt::format("'{}' accesses elements on both sides of an edge", instruction.name));
      count = call.extents[x];
      first = substitute(first, {{name, AffineExpr(0)}});
      last = substitute(last, {{name, AffineExpr(count - 1)}});
    }
    if (operand == 0 && count > 1) return;
    add(found, extent - 1 - last);
    if (count > 1 && !whole(call.operands[operand].buffer, d, first, count))
      fail(fmt::format("'{}' reads {} elements at once, which an edge may cut", instruction.name, count));
  }
  /// Does no edge cut `count` elements that begin at `first`?
  bool whole(BufferId buffer, std::size_t d, const AffineExpr& first, std::int64_t count) const {
    // Rows of dense tensors begin at multiples of the innermost extent's divisor.
    const std::vector<std::int64_t>& multiples = multiples_.at(buffer);
    if (d + 1 != multiples.size() || multiples[d] % count != 0 || first.constant() % count != 0) return false;
    return std::all_of(first.terms().begin(), first.terms().end(),
                       [&](const AffineTerm& term) { return term.coefficient % count == 0; });
  }

  /// The call on no elements, which writes zeros.
  Call filled(const Call& call) const {
    Call zeros = call;
    for (std::int64_t& extent : zeros.extents) extent = 0;
    for (std::size_t i = 1; i < zeros.operands.size(); ++i) {
      if (edges(zeros.operands[i]) == nullptr) continue;
      for (AffineExpr& e : zeros.operands[i].index) {
        std::map<std::string, AffineExpr> at_zero;
        for (const std::string& name : e.names())
          if (!name.starts_with('$')) at_zero[name] = AffineExpr(0);
        e = substitute(e, at_zero);
        e = e - AffineExpr(e.constant());
      }
    }
    return zeros;
  }

  const Program& program_;
  const HardwareModel& model_;
  const EdgesOf& edges_;
  const std::map<BufferId, std::vector<std::int64_t>>& multiples_;
};

}  // namespace

AffineExpr with_size_symbols(const AffineExpr& over_sizes) {
  std::map<std::string, AffineExpr> symbols;
  for (const std::string& name : over_sizes.names()) symbols[name] = AffineExpr::dim(size_symbol(name));
  return substitute(over_sizes, symbols);
}

std::optional<MoreTiles> for_any_tiles(const Program& n, const Program& more, std::int64_t by,
                                       const AffineExpr& beyond_n, Program into) {
  MoreTiles made{{}, std::move(into)};
  if (!TileComparison(by, beyond_n).run(n, more, made)) return std::nullopt;
  return made;
}

Result<Program> with_edges(Program program, const HardwareModel& model, const EdgesOf& edges,
                           const std::map<BufferId, std::vector<std::int64_t>>& multiples) {
  EdgeGuards guards(program, model, edges, multiples);
  std::vector<Node> body = guards.list(program.body);
  if (!guards.problems.empty()) return std::move(guards.problems);
  program.body = std::move(body);
  return program;
}

}  // namespace isamap
