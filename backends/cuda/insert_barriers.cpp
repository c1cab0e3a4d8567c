// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/insert_barriers.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "backends/cpp/text/types.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// One access of a buffer. An index over enclosing loops only may prove two accesses disjoint: the buffers of a
/// multi-buffered tile.
struct MemoryAccess {
  std::int32_t buffer = -1;
  bool written = false;
  bool many = false;  ///< by several of the threads of the barrier, not by one
  std::vector<std::optional<AffineExpr>> index;
  Ranges ranges;  ///< of the variables in it

  bool operator==(const MemoryAccess&) const = default;
};
using Touches = std::vector<MemoryAccess>;

void add(Touches& to, const Touches& from) {
  for (const MemoryAccess& touch : from)
    if (std::find(to.begin(), to.end(), touch) == to.end()) to.push_back(touch);
}

constexpr std::int64_t most_values = 4096;  // values of a loop variable that are tested exhaustively

/// Do the two indices differ for every value of their one variable?
bool never_equal(const AffineExpr& a, const AffineExpr& b, const Ranges& x, const Ranges& y) {
  std::set<std::string> names = a.names();
  names.merge(b.names());
  if (names.empty()) return a != b;
  if (names.size() > 1) return false;
  const std::string& name = *names.begin();
  const auto first = x.find(name), second = y.find(name);
  if (first == x.end() && second == y.end()) return false;
  const Interval low_high = first == x.end()    ? second->second
                            : second == y.end() ? first->second
                                                : Interval{std::max(first->second.low, second->second.low),
                                                           std::min(first->second.high, second->second.high)};
  if (low_high.high - low_high.low >= most_values) return false;
  for (std::int64_t value = low_high.low; value <= low_high.high; ++value)
    if (evaluate(a, {{name, value}}) == evaluate(b, {{name, value}})) return false;
  return true;
}

bool apart(const MemoryAccess& a, const MemoryAccess& b) {
  for (std::size_t i = 0; i < std::min(a.index.size(), b.index.size()); ++i)
    if (a.index[i] && b.index[i] && never_equal(*a.index[i], *b.index[i], a.ranges, b.ranges)) return true;
  return false;
}

class Synchronizer {
 public:
  Synchronizer(const Program& program, const HardwareModel& model, UnitId grid, bool blocks)
      : program_(program), model_(model), grid_(grid), blocks_(blocks) {}

  /// The list with barriers of `unit`; `pending`: accesses since the last barrier, updated.
  std::vector<Node> list(const std::vector<Node>& nodes, UnitId unit, Touches& pending) {
    std::vector<Node> out;
    for (const Node& node : nodes) {
      const Touches own = accesses(node, unit);
      if (conflict(pending, own)) {
        out.push_back(barrier(unit));
        pending = {};
      }
      out.push_back(inside(node, unit, own, pending));
      if (const auto* sync = std::get_if<Sync>(&node.is)) {
        if (sync->object.empty()) pending = {};
        if (!sync->object.empty() && sync->step == Sync::Step::wait) arrive(*sync, pending);
        if (sync->step == Sync::Step::fence) add(pending, std::exchange(unfenced_, {}));
      }
      if (unit == grid_) {
        asynchronous_only_ = true;
        add(on_their_way_, accesses(node, unit));
        asynchronous_only_ = false;
        for (const MemoryAccess& touch : accesses(node, unit))
          if (touch.written && touch.many) add(unfenced_, {touch});
      }
    }
    return out;
  }

 private:
  bool conflict(const Touches& before, const Touches& now) const {
    for (const MemoryAccess& a : before)
      for (const MemoryAccess& b : now)
        if ((a.written || b.written) && (a.many || b.many) && meet(a, b)) return true;
    return false;
  }
  bool meet(const MemoryAccess& a, const MemoryAccess& b) const {
    return a.buffer == b.buffer ? !apart(a, b) : share_bytes(buffer(a), buffer(b));
  }
  const Buffer& buffer(const MemoryAccess& touch) const {
    return program_.buffers[static_cast<std::size_t>(touch.buffer)];
  }

  /// Shared-memory buffers may reuse the bytes of dead ones.
  bool share_bytes(const Buffer& a, const Buffer& b) const {
    if (a.memory != b.memory || !model_.inside(model_.memory(a.memory).per, grid_)) return false;
    return a.address < b.address + size(b) && b.address < a.address + size(a);
  }
  static std::int64_t size(const Buffer& b) { return element_span(b) * bytes(b.dtype); }

  /// Asynchronous copies write at their wait; a counter (mbarrier) makes them visible to all waiting threads, a group
  /// only to the issuing thread.
  void arrive(const Sync& sync, Touches& pending) const {
    if (!sync.counter.buffer.valid()) return add(pending, on_their_way_);
    std::erase_if(pending, [&](const MemoryAccess& touch) {
      return touch.written && std::any_of(on_their_way_.begin(), on_their_way_.end(), [&](const MemoryAccess& other) {
               return other.written && other.buffer == touch.buffer;
             });
    });
  }

  static Node barrier(UnitId unit) {
    Sync sync;
    sync.unit = unit;
    return Node{std::move(sync)};
  }

  Node inside(const Node& node, UnitId unit, const Touches& own, Touches& pending) {
    return std::visit(overloaded{[&](const Loop& loop) {
                                   Loop copy = loop;
                                   const auto inner = model_.find_unit(loop.unit);
                                   if (inner && !model_.inside(grid_, *inner)) {  // threads of a block
                                     Touches fresh;
                                     copy.body = list(loop.body, *inner, fresh);
                                     add(pending, own);
                                   } else if (inner && blocks_ && loop.instances == 0) {
                                     ranges_[loop.variable] = {0, loop.trip - 1};
                                     copy.body = list(loop.body, unit, pending);
                                     ranges_.erase(loop.variable);
                                     forget(pending, loop.variable);
                                   } else {
                                     ranges_[loop.variable] = {0, loop.trip - 1};
                                     copy.body = repeated(loop.body, unit, pending, loop.instances > 0);
                                     ranges_.erase(loop.variable);
                                     forget(pending, loop.variable);
                                   }
                                   return Node{std::move(copy)};
                                 },
                                 [&](const Guard& guard) {
                                   Guard copy = guard;
                                   Touches other = pending;
                                   const Ranges before = ranges_;
                                   for (const AffineExpr& condition : guard.conditions) narrow(ranges_, condition);
                                   copy.then = list(guard.then, unit, pending);
                                   ranges_ = before;
                                   copy.otherwise = list(guard.otherwise, unit, other);
                                   add(pending, other);
                                   return Node{std::move(copy)};
                                 },
                                 [&](const auto&) {
                                   add(pending, own);
                                   return node;
                                 }},
                      node.is);
  }

  /// Loop-carried dependences: the end of a step precedes the start of the next. `turns`: the iterations of a
  /// persistent block, independent except for shared memory.
  std::vector<Node> repeated(const std::vector<Node>& body, UnitId unit, Touches& pending, bool turns) {
    std::vector<Node> out = list(body, unit, pending);
    Touches first;
    for (const Node& node : out) {
      const auto* sync = std::get_if<Sync>(&node.is);
      if (sync != nullptr && sync->object.empty()) break;
      add(first, accesses(node, unit));
    }
    if (turns)
      std::erase_if(first,
                    [&](const MemoryAccess& t) { return !model_.inside(model_.memory(buffer(t).memory).per, grid_); });
    if (!conflict(pending, first)) return out;
    out.push_back(barrier(unit));
    pending = {};
    return out;
  }

  /// Behind a loop its variable no longer proves accesses disjoint.
  static void forget(Touches& touches, const std::string& variable) {
    for (MemoryAccess& touch : touches)
      for (auto& index : touch.index)
        if (index && index->names().contains(variable)) index.reset();
  }

  /// `unit`: the scope of the barrier. A leaf is executed by one of its threads unless its executor is as large.
  Touches accesses(const Node& node, UnitId unit) {
    Touches found;
    const auto note = [&](const Ref& ref, bool written, bool many) {
      if (!ref.buffer.valid()) return;
      if (program_.buffers[ref.buffer.index()].slots >= 0) return;
      MemoryAccess touch{ref.buffer.value, written, many, {}, {}};
      for (const AffineExpr& e : ref.index) {
        const auto names = e.names();
        const bool known =
            std::all_of(names.begin(), names.end(), [&](const std::string& n) { return ranges_.contains(n); });
        touch.index.push_back(known ? std::optional(e) : std::nullopt);
        if (known)
          for (const std::string& n : names) touch.ranges[n] = ranges_.at(n);
      }
      add(found, {touch});
    };
    std::visit(overloaded{[&](const Loop& loop) {
                            const auto inner = model_.find_unit(loop.unit);
                            const bool threads = inner && !model_.inside(grid_, *inner);
                            for (const Node& child : loop.body) {
                              Touches inside = accesses(child, threads ? *inner : unit);
                              if (threads)
                                for (MemoryAccess& touch : inside) touch.many = true;
                              add(found, inside);
                            }
                          },
                          [&](const Guard& guard) {
                            const Ranges before = ranges_;
                            for (const AffineExpr& condition : guard.conditions) narrow(ranges_, condition);
                            for (const Node& child : guard.then) add(found, accesses(child, unit));
                            ranges_ = before;
                            for (const Node& child : guard.otherwise) add(found, accesses(child, unit));
                          },
                          [&](const Call& call) {
                            const Instruction& instruction = model_.instruction(call.instruction);
                            if (asynchronous_only_ && instruction.async_by.empty()) return;
                            const bool many = !instruction.issue_one && !is_innermost(instruction.unit);
                            for (std::size_t i = 0; i < call.operands.size(); ++i) note(call.operands[i], i == 0, many);
                            for (const Ref& mask : call.masks) note(mask, false, many);
                          },
                          [&](const Element& element) {
                            if (asynchronous_only_) return;
                            note(element.write, true, false);
                            for (const Ref& read : element.reads) note(read, false, false);
                          },
                          [](const auto&) {}},
               node.is);
    return found;
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
  Ranges ranges_;         ///< of the enclosing sequential loops
  Touches on_their_way_;  ///< by asynchronous calls
  Touches unfenced_;      ///< written: visible after a fence only, so a barrier before the fence does not suffice
  bool asynchronous_only_ = false;
};

}  // namespace

std::vector<Node> synchronize(const std::vector<Node>& kernel, const Program& program, const HardwareModel& model,
                              UnitId grid, bool blocks) {
  Touches pending;
  return Synchronizer(program, model, grid, blocks).list(kernel, grid, pending);
}

}  // namespace isamap
