// SPDX-License-Identifier: Apache-2.0
#include "program/row_loops.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

class RowLoopFinder {
 public:
  RowLoopFinder(const Program& program, const HardwareModel& model, std::int64_t rows,
                const std::map<TensorId, std::int64_t>& factor, std::int64_t multiple, std::int64_t remainder = 0)
      : program_(program),
        model_(model),
        rows_(rows - remainder),
        factor_(factor),
        multiple_(multiple),
        remainder_(remainder) {}

  std::optional<std::map<std::string, std::int64_t>> run() {
    walk(program_.prepack);
    if (!found_.empty() || !good_) return std::nullopt;  // packing ahead of time sees no rows
    walk(program_.body);
    if (good_) check_other_uses(program_.body);
    for (const std::string& variable : around_remainder_) good_ = good_ && !found_.contains(variable);
    if (!good_ || found_.empty()) return std::nullopt;
    return found_;
  }

  bool has_rows(const Ref& ref) const {
    if (!ref.buffer.valid()) return false;
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    return buffer.role == BufferRole::argument && !buffer.ahead_of_time && factor_.contains(buffer.tensor);
  }

 private:
  struct Open {
    const Loop* loop;
    bool is_row_loop = false;
  };

  /// The rows behind those of the loops; inputs may be read beyond them.
  bool is_remainder(const Ref& ref, std::int64_t factor, bool is_input, const Ranges& ranges) {
    const auto range = bounds(ref.index[0], ranges);
    if (remainder_ == 0 || !range || range->low < factor * rows_) return false;
    for (const Open& open : open_) around_remainder_.insert(open.loop->variable);
    return is_input || range->high < factor * (rows_ + remainder_);
  }

  /// The outermost open loop that walks all rows by this index.
  Open* row_loop(const AffineExpr& index, std::int64_t factor) {
    for (Open& open : open_) {
      const Loop& loop = *open.loop;
      const std::int64_t step = index.coefficient(loop.variable);
      if (step <= 0 || step % factor != 0 || step / factor * loop.trip != rows_) continue;
      if (loop.trip < 2 || loop.unroll || !loop.unit.empty() || loop.instances != 0) continue;
      if ((index - step * AffineExpr::dim(loop.variable)).names().contains(loop.variable)) continue;
      return &open;
    }
    return nullptr;
  }

  void check(const Ref& ref, const Ranges& ranges) {
    if (!has_rows(ref) || !good_) return;
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    const std::int64_t factor = factor_.at(buffer.tensor);
    const bool is_input = role_of(program_.kernel, buffer.tensor) == Role::input;
    Open* const open = row_loop(ref.index[0], factor);
    if (open == nullptr && is_remainder(ref, factor, is_input, ranges)) return;
    good_ = open != nullptr;
    if (!good_) return;
    const std::string& variable = open->loop->variable;
    const std::int64_t step = ref.index[0].coefficient(variable) / factor;
    const auto [known, is_new] = found_.emplace(variable, step);
    open->is_row_loop = true;
    const auto row_loops_open = std::count_if(open_.begin(), open_.end(), [](const Open& o) { return o.is_row_loop; });
    good_ = known->second == step && multiple_ % step == 0 && row_loops_open == 1;
    if (is_input) return;  // neighbouring rows may be read
    const auto remainder = bounds(ref.index[0] - factor * step * AffineExpr::dim(variable), ranges);
    good_ = good_ && remainder && remainder->low >= 0 && remainder->high < factor * step;
  }

  void walk(const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      if (good_) std::visit([&](const auto& n) { visit(n); }, node.is);
  }
  void visit(const Loop& loop) {
    if (loop.trip <= 0) return;
    ranges_[loop.variable] = {0, loop.trip - 1};
    open_.push_back({&loop});
    walk(loop.body);
    open_.pop_back();
    ranges_.erase(loop.variable);
  }
  void visit(const Guard& guard) {
    good_ = good_ && guard.role.empty();
    walk(guard.then);
    walk(guard.otherwise);
  }
  void visit(const Call& call) {
    const Instruction& instruction = model_.instruction(call.instruction);
    for (std::size_t i = 0; i < call.operands.size(); ++i)
      check(call.operands[i], ranges_of_call(ranges_, instruction, call, i == 0 ? 0 : -1));
  }
  void visit(const Element& element) {
    check(element.write, ranges_);
    for (const Ref& read : element.reads) check(read, ranges_);
  }
  void visit(const Sync&) {}  // every step waits alike; phases of counters are among the other uses
  void visit(const Comment&) {}

  // A row loop's variable occurs in the rows of arguments only.

  void refuse_in(const AffineExpr& e) {
    for (const std::string& name : e.names()) good_ = good_ && !found_.contains(name);
  }
  void refuse_in(const Ref& ref) {
    for (std::size_t d = has_rows(ref) ? 1 : 0; d < ref.index.size(); ++d) refuse_in(ref.index[d]);
  }
  void check_other_uses(const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      std::visit(overloaded{[&](const Loop& loop) { check_other_uses(loop.body); },
                            [&](const Guard& guard) {
                              for (const AffineExpr& condition : guard.conditions) refuse_in(condition);
                              check_other_uses(guard.then);
                              check_other_uses(guard.otherwise);
                            },
                            [&](const Call& call) {
                              for (const Ref& ref : call.operands) refuse_in(ref);
                              for (const Ref& ref : call.masks) refuse_in(ref);
                            },
                            [&](const Element& element) {
                              refuse_in(element.write);
                              for (const Ref& ref : element.reads) refuse_in(ref);
                            },
                            [&](const Sync& sync) {
                              refuse_in(sync.phase);
                              refuse_in(sync.counter);
                            },
                            [](const Comment&) {}},
                 node.is);
  }

  const Program& program_;
  const HardwareModel& model_;
  std::int64_t rows_;
  const std::map<TensorId, std::int64_t>& factor_;
  std::int64_t multiple_, remainder_;
  std::map<std::string, std::int64_t> found_;
  std::set<std::string> around_remainder_;  ///< loops that hold code of the remainder
  std::vector<Open> open_;
  Ranges ranges_;
  bool good_ = true;
};

void set_trips(std::vector<Node>& nodes, const std::map<std::string, std::int64_t>& loops, std::int64_t rows) {
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.is)) {
      if (const auto found = loops.find(loop->variable); found != loops.end()) loop->trip = rows / found->second;
      set_trips(loop->body, loops, rows);
    } else if (auto* guard = std::get_if<Guard>(&node.is)) {
      set_trips(guard->then, loops, rows);
      set_trips(guard->otherwise, loops, rows);
    }
  }
}

/// Operands of calls and elements.
void for_each_operand(std::vector<Node>& nodes, const std::function<void(Ref&)>& see) {
  for (Node& node : nodes)
    std::visit(overloaded{[&](Loop& loop) { for_each_operand(loop.body, see); },
                          [&](Guard& guard) {
                            for_each_operand(guard.then, see);
                            for_each_operand(guard.otherwise, see);
                          },
                          [&](Call& call) { std::for_each(call.operands.begin(), call.operands.end(), see); },
                          [&](Element& element) {
                            see(element.write);
                            std::for_each(element.reads.begin(), element.reads.end(), see);
                          },
                          [](Sync&) {}, [](Comment&) {}},
               node.is);
}

}  // namespace

Program with_trips(Program program, const std::map<std::string, std::int64_t>& loops, std::int64_t rows) {
  set_trips(program.body, loops, rows);
  return program;
}

std::optional<std::map<std::string, std::int64_t>> row_loops(const Program& program, const HardwareModel& model,
                                                             std::int64_t rows,
                                                             const std::map<TensorId, std::int64_t>& factor,
                                                             std::int64_t multiple) {
  return RowLoopFinder(program, model, rows, factor, multiple).run();
}

std::optional<RemainderFirst> remainder_first(Program program, const HardwareModel& model, std::int64_t rows,
                                              const std::map<TensorId, std::int64_t>& factor, std::int64_t multiple,
                                              std::int64_t remainder) {
  RowLoopFinder finder(program, model, rows, factor, multiple, remainder);
  auto loops = finder.run();
  if (!loops) return std::nullopt;
  const auto move = [&](Ref& ref) {
    if (!finder.has_rows(ref)) return;
    const std::set<std::string> names = ref.index[0].names();
    const bool in_loop = std::any_of(names.begin(), names.end(), [&](const auto& n) { return loops->contains(n); });
    const std::int64_t by = in_loop ? remainder : remainder - rows;
    ref.index[0] = ref.index[0] + factor.at(program.buffers[ref.buffer.index()].tensor) * by;
  };
  for_each_operand(program.body, move);
  return RemainderFirst{std::move(program), std::move(*loops)};
}

}  // namespace isamap
