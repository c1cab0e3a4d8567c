// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/column_reduction.h"

#include <fmt/format.h>

#include "backends/cuda/lane_exchange.h"
#include "backends/cuda/loop_substitution.h"
#include "backends/cuda/parallel_reduction.h"
#include "hwdesc/model/parallel_units.h"

namespace isamap {
namespace {

class ColumnPrinter {
 public:
  ColumnPrinter(const ColumnReduction& reduction, const ParallelReductionPlan& plan, Program& program,
                const HardwareModel& model, UnitId block,
                const std::function<std::string(const std::string& hint)>& fresh)
      : reduction_(reduction),
        plan_(plan),
        program_(program),
        model_(model),
        block_(block),
        units_(units_of_threads(model, block)),
        fresh_(fresh),
        element_(*only_element(reduction.body)),
        type_(program.buffers[element_.write.buffer.index()].dtype),
        total_(steps_of(reduction.sums)),
        terms_(steps_of(reduction.terms)) {}

  Node run() {
    const std::string block = fresh_(model_.unit(block_).name);
    number_ = AffineExpr::dim(block);
    ranges_ = reduction_.ranges;
    ranges_[block] = {0, plan_.blocks - 1};
    partial_ = add_partial(program_, registers_of(model_, units_.back()), type_);
    parts_ = add_parts();
    std::vector<Node> nodes = {
        Node{Comment{fmt::format("{} columns side by side, each in {} parts: another order than in time", plan_.columns,
                                 plan_.parts())}},
        on_threads([&](const AffineExpr& thread) { return part_of_column(thread); })};
    for (std::int64_t left = plan_.parts(); left > 1; left = (left + 1) / 2) nodes.push_back(combine(left));
    nodes.push_back(on_threads([&](const AffineExpr& thread) {
      const AffineExpr first = AffineExpr(plan_.columns - 1) - thread;
      std::vector<Node> last = {Node{give_partial(element_, partial_, type_)}};
      last.insert(last.end(), reduction_.finish.begin(), reduction_.finish.end());
      return guarded({first}, of_column(thread, last));
    }));
    return Node{Loop{block, plan_.blocks, false, model_.unit(block_).name, std::move(nodes)}};
  }

 private:
  std::int64_t lanes() const { return model_.unit(units_.back()).count; }

  /// One element for each thread of the block, in the block's memory.
  BufferId add_parts() {
    Buffer buffer;
    buffer.name = "parts";
    for (std::size_t m = 0; m < model_.memories().size(); ++m)
      if (const Memory& memory = model_.memories()[m];
          memory.per == block_ && memory.kind == MemoryKind::scratchpad && !buffer.memory.valid())
        buffer.memory = make_id<MemoryId>(m);
    buffer.dtype = type_;
    buffer.extents = {lanes() * plan_.warp_parts()};
    buffer.strides = {1};
    program_.buffers.push_back(std::move(buffer));
    return make_id<BufferId>(program_.buffers.size() - 1);
  }

  /// All threads of a block, each with its number.
  Node on_threads(const std::function<std::vector<Node>(const AffineExpr& thread)>& make) {
    AffineExpr thread;
    std::vector<Loop> loops;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const std::int64_t count = u + 1 == units_.size() ? lanes() : plan_.warps[u];
      loops.push_back(Loop{fresh_(model_.unit(units_[u]).name), count, false, model_.unit(units_[u]).name, {}});
      thread = thread * count + AffineExpr::dim(loops.back().variable);
      ranges_[loops.back().variable] = {0, count - 1};
    }
    std::vector<Node> nodes = make(thread);
    for (std::size_t u = loops.size(); u-- > 0;) {
      loops[u].body = std::move(nodes);
      nodes = {Node{loops[u]}};
    }
    return nodes.front();
  }

  static std::vector<Node> guarded(std::vector<AffineExpr> conditions, std::vector<Node> nodes) {
    Guard guard;
    guard.conditions = std::move(conditions);
    guard.then = std::move(nodes);
    return {Node{std::move(guard)}};
  }

  /// `nodes` with the column of a thread, where there is such a column.
  std::vector<Node> of_column(const AffineExpr& thread, const std::vector<Node>& nodes) const {
    const AffineExpr column = simplify(number_ * plan_.columns + mod(thread, plan_.columns), ranges_);
    std::vector<Node> out = with_values(nodes, numbers_of(reduction_.sums, column, ranges_), ranges_, model_);
    if (total_ % plan_.columns == 0) return out;
    return guarded({AffineExpr(total_ - 1) - column}, std::move(out));
  }

  /// Terms  first + part + parts * turn,  all of which exist unless `guard`.
  std::vector<Node> turns(const AffineExpr& part, const AffineExpr& first, std::int64_t count, bool guard) {
    const std::string turn = fresh_("turn");
    ranges_[turn] = {0, count - 1};
    const AffineExpr number = simplify(first + part + AffineExpr::dim(turn) * plan_.parts(), ranges_);
    std::vector<Node> nodes =
        with_values(reduction_.body, numbers_of(reduction_.terms, number, ranges_), ranges_, model_);
    Node* statement = &nodes[0];
    while (auto* inner = std::get_if<Guard>(&statement->is)) statement = &inner->then[0];
    std::get<Element>(statement->is).write = {partial_.own, {}};
    if (guard) nodes = guarded({AffineExpr(terms_ - 1) - number}, std::move(nodes));
    return {Node{Loop{turn, count, true, "", std::move(nodes)}}};
  }

  Element to_parts(const AffineExpr& thread) const {
    Element put;
    put.unit = units_.back();
    put.write = {parts_, {thread}};
    put.reads = {{partial_.own, {}}};
    put.body = read(0, type_);
    return put;
  }

  std::vector<Node> part_of_column(const AffineExpr& thread) {
    std::vector<Node> sums;
    const AffineExpr part = simplify(floordiv(thread, plan_.columns), ranges_);
    const std::int64_t step = plan_.parts() * plan_.loads_in_flight, rounds = terms_ / step;
    if (rounds > 0) {
      const std::string round = fresh_("round");
      ranges_[round] = {0, rounds - 1};
      std::vector<Node> together = turns(part, AffineExpr::dim(round) * step, plan_.loads_in_flight, false);
      sums.push_back(Node{Loop{round, rounds, false, "", std::move(together)}});
    }
    if (const std::int64_t rest = terms_ - rounds * step; rest > 0) {
      const std::vector<Node> last =
          turns(part, AffineExpr(rounds * step), (rest + plan_.parts() - 1) / plan_.parts(), rest % plan_.parts() != 0);
      sums.insert(sums.end(), last.begin(), last.end());
    }
    std::vector<Node> nodes = {Node{start_partial(element_, partial_, type_, units_.back())}};
    for (Node& node : of_column(thread, sums)) nodes.push_back(std::move(node));
    nodes.push_back(Node{to_parts(thread)});
    return nodes;
  }

  /// One step of the tree: the upper half of `left` parts is added to the lower one; of an odd number one stays as it
  /// is.
  Node combine(std::int64_t left) {
    const std::int64_t kept = (left + 1) / 2;
    return on_threads([&](const AffineExpr& thread) {
      Element take = take_other(element_, partial_, type_, units_.back());
      take.reads = {{parts_, {thread + AffineExpr(kept * plan_.columns)}}};
      std::vector<Node> nodes = {Node{take}};
      if (kept > 1) nodes.push_back(Node{to_parts(thread)});
      return guarded({AffineExpr((left - kept) * plan_.columns - 1) - thread}, std::move(nodes));
    });
  }

  const ColumnReduction& reduction_;
  const ParallelReductionPlan& plan_;
  Program& program_;
  const HardwareModel& model_;
  UnitId block_;
  std::vector<UnitId> units_;
  const std::function<std::string(const std::string& hint)>& fresh_;
  const Element& element_;
  DType type_;
  std::int64_t total_, terms_;
  AffineExpr number_;  ///< of the block
  Ranges ranges_;
  Partial partial_;
  BufferId parts_;
};

}  // namespace

Node column_reduction(const ColumnReduction& reduction, const ParallelReductionPlan& plan, Program& program,
                      const HardwareModel& model, UnitId block,
                      const std::function<std::string(const std::string& hint)>& fresh) {
  return ColumnPrinter(reduction, plan, program, model, block, fresh).run();
}

}  // namespace isamap
