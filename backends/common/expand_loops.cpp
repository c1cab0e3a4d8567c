// SPDX-License-Identifier: Apache-2.0
#include "backends/common/expand_loops.h"

#include <fmt/format.h>

#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

class Expander {
 public:
  Expander(const HardwareModel& model, std::int64_t max_nodes) : model_(model), left_(max_nodes), limit_(max_nodes) {}

  std::vector<Node> nodes(const std::vector<Node>& in) {
    std::vector<Node> out;
    for (const Node& node : in)
      if (left_ > 0) std::visit([&](const auto& n) { add(n, out); }, node.is);
    return out;
  }

  std::optional<Diagnostic> problem() const {
    if (left_ > 0) return std::nullopt;
    return error(fmt::format("the unrolled program has more than {} statements{}", limit_,
                             loop_.empty() ? "" : fmt::format("; loop '{}' is unrolled {} times", loop_, trip_)),
                 "unroll fewer or shorter loops");
  }

 private:
  AffineExpr fix(const AffineExpr& e, const Ranges& ranges) const {
    return simplify(fixed_.empty() ? e : substitute(e, fixed_), ranges);
  }
  Ref fix(const Ref& ref, const Ranges& ranges) const {
    Ref out{ref.buffer, {}};
    for (const AffineExpr& e : ref.index) out.index.push_back(fix(e, ranges));
    return out;
  }
  void put(Node node, std::vector<Node>& out) {
    --left_;
    out.push_back(std::move(node));
  }

  void add(const Loop& loop, std::vector<Node>& out) {
    if (loop.unroll || (loop.trip < 2 && loop.instances == 0)) return write_out(loop, out);
    ranges_[loop.variable] = {0, loop.trip - 1};
    Loop copy{loop.variable, loop.trip, false, loop.unit, nodes(loop.body), loop.instances};
    ranges_.erase(loop.variable);
    if (!copy.body.empty()) put({std::move(copy)}, out);
  }

  void write_out(const Loop& loop, std::vector<Node>& out) {
    for (std::int64_t i = 0; i < loop.trip && left_ > 0; ++i) {
      fixed_[loop.variable] = AffineExpr(i);
      for (const Node& node : loop.body)
        if (left_ > 0) std::visit([&](const auto& n) { add(n, out); }, node.is);
      --left_;  // an empty body counts too, which bounds the work
    }
    fixed_.erase(loop.variable);
    if (left_ <= 0 && loop.trip > trip_) {
      loop_ = loop.variable;
      trip_ = loop.trip;
    }
  }

  void add(const Guard& guard, std::vector<Node>& out) {
    Guard copy;
    copy.role = guard.role;
    if (!guard.role.empty()) {
      copy.then = nodes(guard.then);
      return put({std::move(copy)}, out);
    }
    for (const AffineExpr& condition : guard.conditions) {
      AffineExpr e = fix(condition, ranges_);
      const auto range = bounds(e, ranges_);
      if (range && range->low >= 0) continue;
      if (range && range->high < 0) return append(nodes(guard.otherwise), out);
      copy.conditions.push_back(std::move(e));
    }
    if (copy.conditions.empty()) return append(nodes(guard.then), out);
    copy.then = nodes(guard.then);
    copy.otherwise = nodes(guard.otherwise);
    if (!copy.then.empty() || !copy.otherwise.empty()) put({std::move(copy)}, out);
  }
  static void append(std::vector<Node> from, std::vector<Node>& out) {
    for (Node& node : from) out.push_back(std::move(node));
  }

  void add(const Call& call, std::vector<Node>& out) {
    const Instruction& instruction = model_.instruction(call.instruction);
    const Ranges ranges = ranges_of_call(ranges_, instruction, call);
    Call copy{call.instruction, {}, call.extents, {}, call.start, fix(call.counter, ranges_)};
    for (const Ref& ref : call.operands)
      copy.operands.push_back(
          fix(ref, &ref == &call.operands[0] ? ranges_of_call(ranges_, instruction, call, 0) : ranges));
    for (const Ref& ref : call.masks) copy.masks.push_back(fix(ref, ranges));
    put({std::move(copy)}, out);
  }
  void add(const Element& element, std::vector<Node>& out) {
    Element copy{element.unit, element.reduction, fix(element.write, ranges_), {}, element.body};
    for (const Ref& ref : element.reads) copy.reads.push_back(fix(ref, ranges_));
    put({std::move(copy)}, out);
  }
  void add(const Sync& sync, std::vector<Node>& out) {
    Sync copy = sync;
    copy.counter = fix(sync.counter, ranges_);
    copy.phase = fix(sync.phase, ranges_);
    put({std::move(copy)}, out);
  }
  void add(const Comment& comment, std::vector<Node>& out) { put({comment}, out); }

  const HardwareModel& model_;
  std::int64_t left_, limit_;
  std::string loop_;
  std::int64_t trip_ = 0;
  Ranges ranges_;
  std::map<std::string, AffineExpr> fixed_;
};

}  // namespace

Result<std::vector<Node>> expand(const std::vector<Node>& nodes, const HardwareModel& model, std::int64_t max_nodes) {
  Expander expander(model, max_nodes);
  auto out = expander.nodes(nodes);
  if (auto problem = expander.problem()) return *problem;
  return out;
}

}  // namespace isamap
