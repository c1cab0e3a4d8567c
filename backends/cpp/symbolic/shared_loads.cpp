// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/shared_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "hwdesc/model/compiler_limits.h"
#include "ir/operand_use.h"

namespace isamap {
namespace {

constexpr double worth_sharing = 0.75;          // of the loads are left at most
constexpr double worth_more_code = 0.85;        // of the loads that sharing in the inner loop leaves
constexpr std::size_t most_shared_calls = 240;  // of a loop that is written out

using Values = std::map<std::string, AffineExpr>;
using Slot = std::pair<BufferId, std::vector<AffineExpr>>;

/// The calls of nodes with loops written out. Nothing: another node is among them, or too many.
bool write_out(const std::vector<Node>& nodes, const Values& values, const RuntimeNumbers& numbers,
               std::vector<Call>& calls) {
  for (const Node& node : nodes) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) {
      if (!loop->unit.empty() || loop->trip > steps_unrolled_by_compilers || numbers.trips.contains(loop->variable) ||
          numbers.ranges.contains(loop->variable))
        return false;
      Values inner = values;
      for (std::int64_t step = 0; step < loop->trip; ++step) {
        inner[loop->variable] = AffineExpr(step);
        if (!write_out(loop->body, inner, numbers, calls)) return false;
      }
    } else if (const auto* call = std::get_if<Call>(&node.is)) {
      calls.push_back(*call);
      for (std::vector<Ref>* refs : {&calls.back().operands, &calls.back().masks})
        for (Ref& ref : *refs)
          for (AffineExpr& e : ref.index) e = substitute(e, values);
      if (calls.size() > most_shared_calls) return false;
    } else if (!std::holds_alternative<Comment>(node.is)) {
      return false;
    }
  }
  return true;
}

/// Loads of nodes, each as often as it is executed.
std::int64_t count_loads(const std::vector<Node>& nodes, const HardwareModel& model) {
  std::int64_t loads = 0;
  for (const Node& node : nodes)
    if (const auto* loop = std::get_if<Loop>(&node.is))
      loads += loop->trip * count_loads(loop->body, model);
    else if (const auto* call = std::get_if<Call>(&node.is))
      loads += is_move(model.instruction(call->instruction)) ? 1 : 0;
  return loads;
}

/// One loop, written out.
class WrittenOut {
 public:
  WrittenOut(Program& program, const HardwareModel& model) : program_(program), model_(model) {}

  /// What replaces these calls; nothing: they share too little, or registers do not suffice.
  std::optional<std::vector<Node>> run(const std::vector<Call>& calls) {
    for (const Call& call : calls)
      if (!(is_move(model_.instruction(call.instruction)) ? take_load(call) : take_sum(call))) return std::nullopt;
    const auto distinct = static_cast<double>(loads_.size());
    if (sums_.empty() || distinct > worth_sharing * static_cast<double>(load_count_)) return std::nullopt;
    if (!choose_streamed() || !fits() || !order()) return std::nullopt;
    return nodes();
  }
  /// Of registers that hold loaded values.
  const std::set<std::int32_t>& pinned() const { return pinned_; }

 private:
  struct Sum {
    Call call;
    std::vector<int> values;  ///< by operand: a load; -1: another register
  };

  bool in_registers(const Ref& ref) const {
    if (!ref.buffer.valid()) return false;
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    const Memory& memory = model_.memory(buffer.memory);
    return memory.is_register() && memory.named_by_compiler() && !memory.constraint.empty() && buffer.slots >= 0 &&
           buffer.registers_per_slot == 1 &&
           std::all_of(ref.index.begin(), ref.index.begin() + buffer.slots,
                       [](const AffineExpr& e) { return e.is_constant(); });
  }
  Slot slot_of(const Ref& ref) const {
    if (!in_registers(ref)) return {};
    return {ref.buffer, {ref.index.begin(), ref.index.begin() + program_.buffers[ref.buffer.index()].slots}};
  }

  bool take_load(const Call& call) {
    const bool plain = call.operands.size() == 2 && call.masks.empty() && !call.counter.buffer.valid();
    if (!plain || !in_registers(call.operands[0]) || !call.operands[1].buffer.valid() ||
        model_.memory(program_.buffers[call.operands[1].buffer.index()].memory).is_register())
      return false;
    ++load_count_;
    Call same = call;  // into whichever register
    same.operands[0] = {};
    auto found = std::find(keys_.begin(), keys_.end(), same);
    if (found == keys_.end()) {
      found = keys_.insert(found, same);
      loads_.push_back(call);
    }
    const Slot slot = slot_of(call.operands[0]);
    held_[slot] = static_cast<int>(found - keys_.begin());
    return unread_.insert(slot).second;  // else a load of a part of the register, or one that is not read
  }
  bool take_sum(const Call& call) {
    if (!updates(model_.instruction(call.instruction), call) || !call.masks.empty() ||
        !in_registers(call.operands[0]) || held_.contains(slot_of(call.operands[0])))
      return false;
    Sum sum{call, {-1}};
    for (std::size_t p = 1; p < call.operands.size(); ++p) {
      const auto held = held_.find(slot_of(call.operands[p]));
      if (held == held_.end()) return false;
      unread_.erase(held->first);
      sum.values.push_back(held->second);
    }
    accumulators_.insert(slot_of(call.operands[0]));
    sums_.push_back(std::move(sum));
    return true;
  }

  BufferId source(int load) const { return loads_[static_cast<std::size_t>(load)].operands[1].buffer; }

  /// The input of which one element is in a register at a time: the one with most of them. Each sum reads one.
  bool choose_streamed() {
    std::map<BufferId, int> counts;
    for (std::size_t n = 0; n < loads_.size(); ++n) ++counts[source(static_cast<int>(n))];
    streamed_ = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                  return a.second < b.second;
                })->first;
    return std::all_of(sums_.begin(), sums_.end(), [&](const Sum& sum) {
      return std::count_if(sum.values.begin(), sum.values.end(), [&](int v) { return is_streamed(v); }) == 1;
    });
  }
  bool is_streamed(int value) const { return value >= 0 && source(value) == streamed_; }
  int streamed_value(const Sum& sum) const {
    return *std::find_if(sum.values.begin(), sum.values.end(), [&](int v) { return is_streamed(v); });
  }

  bool fits() const {
    const auto kept = std::count_if(loads_.begin(), loads_.end(),
                                    [&](const Call& load) { return load.operands[1].buffer != streamed_; });
    const Memory& memory = model_.memory(program_.buffers[loads_.front().operands[0].buffer.index()].memory);
    const auto same_file = [&](const Slot& slot) {
      return &model_.memory(program_.buffers[slot.first.index()].memory) == &memory;
    };
    return std::all_of(accumulators_.begin(), accumulators_.end(), same_file) &&
           static_cast<std::int64_t>(accumulators_.size()) + kept + 1 + spare_registers <= memory.count;
  }

  /// Of the streamed elements, so that each sum adds its terms as before. False: there is none.
  bool order() {
    std::vector<std::set<int>> before(loads_.size());
    std::map<Slot, int> last;
    for (const Sum& sum : sums_) {
      const int value = streamed_value(sum);
      const auto [at, is_first] = last.try_emplace(slot_of(sum.call.operands[0]), value);
      if (!is_first && at->second == value) return false;  // two terms of one element
      if (!is_first) before[static_cast<std::size_t>(value)].insert(at->second);
      at->second = value;
    }
    std::set<int> left;
    for (const Sum& sum : sums_) left.insert(streamed_value(sum));
    while (!left.empty()) {
      const auto ready = std::find_if(left.begin(), left.end(), [&](int value) {
        const auto& needed = before[static_cast<std::size_t>(value)];
        return std::none_of(needed.begin(), needed.end(), [&](int one) { return left.contains(one); });
      });
      if (ready == left.end()) return false;
      order_.push_back(*ready);
      left.erase(ready);
    }
    return true;
  }

  /// Values that are kept of those that are loaded into this buffer.
  std::int64_t kept_count(BufferId id) const {
    return std::count_if(loads_.begin(), loads_.end(), [&](const Call& load) {
      return load.operands[0].buffer == id && load.operands[1].buffer != streamed_;
    });
  }
  /// A register of its own for each value of this input.
  Ref kept_place(int value) {
    const Ref& loaded = loads_[static_cast<std::size_t>(value)].operands[0];
    const auto [known, is_new] = kept_.try_emplace(loaded.buffer);
    if (is_new) {
      Buffer buffer = program_.buffers[loaded.buffer.index()];
      const auto slots = static_cast<std::size_t>(buffer.slots);
      buffer.name += "_of";
      buffer.slots = 1;
      buffer.extents.erase(buffer.extents.begin(), buffer.extents.begin() + static_cast<std::ptrdiff_t>(slots));
      buffer.extents.insert(buffer.extents.begin(), kept_count(loaded.buffer));
      known->second = make_id<BufferId>(program_.buffers.size());
      program_.buffers.push_back(std::move(buffer));
      pinned_.insert(known->second.value);
    }
    const auto slots = program_.buffers[loaded.buffer.index()].slots;
    const auto [slot, is_first] = slots_.try_emplace(value, used_[loaded.buffer]);
    used_[loaded.buffer] += is_first ? 1 : 0;
    Ref place{known->second, {AffineExpr(slot->second)}};
    place.index.insert(place.index.end(), loaded.index.begin() + slots, loaded.index.end());
    return place;
  }

  std::vector<Node> nodes() {
    std::vector<Node> made;
    std::set<int> loaded;
    for (const int streamed : order_) {
      Call load = loads_[static_cast<std::size_t>(streamed)];
      load.operands[0] = loads_[static_cast<std::size_t>(order_.front())].operands[0];
      const Ref place = load.operands[0];
      pinned_.insert(place.buffer.value);
      made.push_back(Node{std::move(load)});
      for (const Sum& sum : sums_) {
        if (streamed_value(sum) != streamed) continue;
        Call call = sum.call;
        for (std::size_t p = 1; p < call.operands.size(); ++p) {
          const int value = sum.values[p];
          if (is_streamed(value)) {
            call.operands[p].buffer = place.buffer;
            replace_slots(call.operands[p], place);
            continue;
          }
          const Ref kept = kept_place(value);
          if (loaded.insert(value).second) {
            Call first = loads_[static_cast<std::size_t>(value)];
            first.operands[0] = kept;
            made.push_back(Node{std::move(first)});
          }
          const auto slots = static_cast<std::ptrdiff_t>(program_.buffers[call.operands[p].buffer.index()].slots);
          Ref read{kept.buffer, {kept.index.front()}};
          read.index.insert(read.index.end(), call.operands[p].index.begin() + slots, call.operands[p].index.end());
          call.operands[p] = std::move(read);
        }
        made.push_back(Node{std::move(call)});
      }
    }
    return made;
  }
  void replace_slots(Ref& ref, const Ref& place) const {
    const auto slots = static_cast<std::ptrdiff_t>(program_.buffers[place.buffer.index()].slots);
    std::copy(place.index.begin(), place.index.begin() + slots, ref.index.begin());
  }

  Program& program_;
  const HardwareModel& model_;
  std::vector<Call> loads_, keys_;  ///< distinct ones; as keys without their registers
  std::int64_t load_count_ = 0;
  std::map<Slot, int> held_;  ///< loads, by the register that holds their value
  std::set<Slot> unread_;     ///< registers that nothing has read since their load
  std::set<Slot> accumulators_;
  std::vector<Sum> sums_;
  BufferId streamed_;
  std::vector<int> order_;
  std::map<BufferId, BufferId> kept_;
  std::map<int, std::int64_t> slots_;      ///< of kept values
  std::map<BufferId, std::int64_t> used_;  ///< slots
  std::set<std::int32_t> pinned_;
};

class LoadSharing {
 public:
  LoadSharing(Program& program, const HardwareModel& model, const RuntimeNumbers& numbers)
      : program_(program), model_(model), numbers_(numbers) {}

  void visit(std::vector<Node>& nodes) {
    std::vector<Node> made;
    for (Node& node : nodes) {
      if (auto* guard = std::get_if<Guard>(&node.is)) {
        visit(guard->then);
        visit(guard->otherwise);
      }
      auto* loop = std::get_if<Loop>(&node.is);
      auto written = loop != nullptr ? steps(*loop) : std::nullopt;
      if (written)
        std::move(written->begin(), written->end(), std::back_inserter(made));
      else
        made.push_back(std::move(node));
    }
    nodes = std::move(made);
  }
  std::set<std::int32_t> pinned() && { return std::move(pinned_); }

 private:
  /// Of the loop in a row; else loops inside it are written out.
  std::optional<std::vector<Node>> steps(Loop& loop) {
    std::vector<Call> calls;
    const bool short_enough = write_out({Node{loop}}, {}, numbers_, calls);
    const bool is_marked = loop.unroll;
    if (!is_marked) visit(loop.body);
    if (!short_enough || is_marked) return std::nullopt;
    WrittenOut written(program_, model_);
    auto nodes = written.run(calls);
    if (!nodes || static_cast<double>(count_loads(*nodes, model_)) >
                      worth_more_code * static_cast<double>(loop.trip * count_loads(loop.body, model_)))
      return std::nullopt;
    pinned_.insert(written.pinned().begin(), written.pinned().end());
    return nodes;
  }

  Program& program_;
  const HardwareModel& model_;
  const RuntimeNumbers& numbers_;
  std::set<std::int32_t> pinned_;
};

}  // namespace

std::set<std::int32_t> share_loads(Program& program, const HardwareModel& model, const RuntimeNumbers& numbers) {
  LoadSharing sharing(program, model, numbers);
  sharing.visit(program.body);
  return std::move(sharing).pinned();
}

}  // namespace isamap
