#include "backends/cuda/synchronize.h"

#include <algorithm>
#include <set>

#include "support/overloaded.h"

namespace isamap {
namespace {

/// Buffers that are read and written, by one thread of those that meet here, or by several.
struct Accesses {
  std::set<std::int32_t> read_by_one, written_by_one, read_by_many, written_by_many;

  void add(const Accesses& o) {
    read_by_one.insert(o.read_by_one.begin(), o.read_by_one.end());
    written_by_one.insert(o.written_by_one.begin(), o.written_by_one.end());
    read_by_many.insert(o.read_by_many.begin(), o.read_by_many.end());
    written_by_many.insert(o.written_by_many.begin(), o.written_by_many.end());
  }
};

bool meet(const std::set<std::int32_t>& a, const std::set<std::int32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::int32_t x) { return b.contains(x); });
}

bool conflict(const Accesses& a, const Accesses& b) {
  const auto half = [](const Accesses& x, const Accesses& y) {  // what x writes and y touches
    return meet(x.written_by_many, y.read_by_many) || meet(x.written_by_many, y.written_by_many) ||
           meet(x.written_by_many, y.read_by_one) || meet(x.written_by_many, y.written_by_one) ||
           meet(x.written_by_one, y.read_by_many) || meet(x.written_by_one, y.written_by_many);
  };
  return half(a, b) || half(b, a);
}

class Synchronizer {
 public:
  Synchronizer(const Program& program, const HardwareModel& model, UnitId grid, bool blocks)
      : program_(program), model_(model), grid_(grid), blocks_(blocks) {}

  /// The list with barriers of `unit`; `pending` is what was touched since the last one, before and then after it.
  std::vector<Node> list(const std::vector<Node>& nodes, UnitId unit, Accesses& pending) {
    std::vector<Node> out;
    for (const Node& node : nodes) {
      const Accesses own = accesses(node, unit);
      if (conflict(pending, own)) {
        out.push_back(barrier(unit));
        pending = {};
      }
      out.push_back(inside(node, unit, own, pending));
      if (std::holds_alternative<Sync>(node.is) && std::get<Sync>(node.is).object.empty()) pending = {};
    }
    return out;
  }

 private:
  static Node barrier(UnitId unit) {
    Sync sync;
    sync.unit = unit;
    return Node{std::move(sync)};
  }

  Node inside(const Node& node, UnitId unit, const Accesses& own, Accesses& pending) {
    return std::visit(
        overloaded{[&](const Loop& loop) {
                     Loop copy = loop;
                     const auto inner = model_.find_unit(loop.unit);
                     if (inner && !model_.inside(grid_, *inner)) {  // threads of a block
                       Accesses fresh;
                       copy.body = list(loop.body, *inner, fresh);
                       pending.add(own);
                     } else if (inner && blocks_) {
                       copy.body = list(loop.body, unit, pending);
                     } else {
                       copy.body = repeated(loop.body, unit, pending);
                     }
                     return Node{std::move(copy)};
                   },
                   [&](const Guard& guard) {
                     Guard copy = guard;
                     Accesses other = pending;
                     copy.then = list(guard.then, unit, pending);
                     copy.otherwise = list(guard.otherwise, unit, other);
                     pending.add(other);
                     return Node{std::move(copy)};
                   },
                   [&](const auto&) {
                     pending.add(own);
                     return node;
                   }},
        node.is);
  }

  /// The end of a step is followed by the begin of the next.
  std::vector<Node> repeated(const std::vector<Node>& body, UnitId unit, Accesses& pending) {
    std::vector<Node> out = list(body, unit, pending);
    Accesses first;
    for (const Node& node : out) {
      const auto* sync = std::get_if<Sync>(&node.is);
      if (sync != nullptr && sync->object.empty()) break;
      first.add(accesses(node, unit));
    }
    if (!conflict(pending, first)) return out;
    out.push_back(barrier(unit));
    pending = {};
    return out;
  }

  /// `unit`: whose threads meet. A leaf here is done by one of them unless its executor is as large.
  Accesses accesses(const Node& node, UnitId unit) const {
    Accesses found;
    const auto note = [&](const Ref& ref, bool written, bool many) {
      if (!ref.buffer.valid()) return;
      const Buffer& buffer = program_.buffers[ref.buffer.index()];
      if (buffer.slots >= 0) return;
      (written ? many ? found.written_by_many : found.written_by_one : many ? found.read_by_many : found.read_by_one)
          .insert(ref.buffer.value);
    };
    std::visit(overloaded{[&](const Loop& loop) {
                            const auto inner = model_.find_unit(loop.unit);
                            const bool threads = inner && !model_.inside(grid_, *inner);
                            for (const Node& child : loop.body) found.add(threads ? by_many(accesses(child, *inner)) : accesses(child, unit));
                          },
                          [&](const Guard& guard) {
                            for (const auto* branch : {&guard.then, &guard.otherwise})
                              for (const Node& child : *branch) found.add(accesses(child, unit));
                          },
                          [&](const Call& call) {
                            const Instruction& instruction = model_.instruction(call.instruction);
                            const bool many = !instruction.issue_one && !is_innermost(instruction.unit);
                            for (std::size_t i = 0; i < call.operands.size(); ++i) note(call.operands[i], i == 0, many);
                            for (const Ref& mask : call.masks) note(mask, false, many);
                          },
                          [&](const Element& element) {
                            note(element.write, true, false);
                            for (const Ref& read : element.reads) note(read, false, false);
                          },
                          [](const auto&) {}},
               node.is);
    return found;
  }
  static Accesses by_many(Accesses a) {
    a.read_by_many.merge(a.read_by_one);
    a.written_by_many.merge(a.written_by_one);
    a.read_by_one.clear();
    a.written_by_one.clear();
    return a;
  }
  bool is_innermost(UnitId unit) const {
    for (std::size_t u = 0; u < model_.units().size(); ++u)
      if (make_id<UnitId>(u) != unit && model_.inside(make_id<UnitId>(u), unit)) return false;
    return true;
  }

  const Program& program_;
  const HardwareModel& model_;
  UnitId grid_;
  bool blocks_;
};

}  // namespace

std::vector<Node> synchronize(const std::vector<Node>& kernel, const Program& program, const HardwareModel& model, UnitId grid,
                              bool blocks) {
  Accesses pending;
  return Synchronizer(program, model, grid, blocks).list(kernel, grid, pending);
}

}  // namespace isamap
