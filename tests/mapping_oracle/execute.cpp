// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/execute.h"

#include <algorithm>
#include <cstdlib>

#include "isamap/interpret.h"

namespace isamap::oracle {
namespace {

// Far below every value, garbage included, and far above what stands for minus infinity in the output.
constexpr Int kill_max = -1'000'000'000'000;
constexpr Int least_value = -1'000'000'000'000'000;

Int identity(Reduction reduction) { return reduction == Reduction::add ? 0 : least_value; }
Int combine(Reduction reduction, Int a, Int b) { return reduction == Reduction::add ? a + b : std::max(a, b); }

Int body_of(Body body, const Vec& inputs) {
  Int result = inputs.empty() ? 1 : inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (body == Body::product) result *= inputs[i];
    if (body == Body::sum) result += inputs[i];
    if (body == Body::abs_diff) result = std::abs(result - inputs[i]);
    if (body == Body::squared_diff) result = (result - inputs[i]) * (result - inputs[i]);
  }
  return result;
}

/// What the input holds there: any function of operand and index.
Int content(const Nest& kernel, std::uint64_t seed, int operand, const Vec& index) {
  if (operand == kernel.constant_operand) return kernel.constant;
  std::uint64_t mixed = seed + static_cast<std::uint64_t>(operand) * 977;
  for (const Int i : index) mixed = Random(mixed ^ static_cast<std::uint64_t>(i + 4099)).next();
  return static_cast<Int>(mixed % 19) - 9;
}

class Run {
 public:
  Run(const Nest& kernel, const Nest& unit, const Mapping& mapping, std::uint64_t seed)
      : kernel_(kernel), unit_(unit), mapping_(mapping), seed_(seed), random_(seed) {
    for (const Vec& y : box(unit.extents)) {
      points_.push_back(y);
      slots_of_.emplace_back();
      for (std::size_t t = 0; t < unit.operands.size(); ++t) slots_of_.back().push_back(element(unit, t, y));
    }
  }

  Execution run() {
    Calls calls = calls_of(kernel_, unit_, mapping_);
    for (std::size_t i = calls.list.size(); i > 1; --i)
      std::swap(calls.list[i - 1], calls.list[static_cast<std::size_t>(random_.between(0, static_cast<Int>(i) - 1))]);
    for (const Call& c : calls.list) call(c);
    result_.calls = static_cast<Int>(calls.list.size());
    if (mapped_ != plain()) result_.problem = "the values differ from the loop nest's";
    return result_;
  }

 private:
  using Slots = std::map<Vec, Int>;

  std::map<Vec, Int> plain() const {
    std::map<Vec, Int> output;
    for (const Vec& x : box(kernel_.extents)) {
      if (!kernel_.inside(x)) continue;
      Vec inputs;
      for (std::size_t t = 1; t < kernel_.operands.size(); ++t)
        inputs.push_back(content(kernel_, seed_, static_cast<int>(t), element(kernel_, t, x)));
      Int& out = output.emplace(element(kernel_, 0, x), before(element(kernel_, 0, x))).first->second;
      out = combine(kernel_.reduction, out, body_of(kernel_.body, inputs));
    }
    return output;
  }

  /// What the output's element holds before the first call, and now.
  Int before(const Vec& at) const {
    return kernel_.holds ? content(kernel_, seed_, 0, at) : identity(kernel_.reduction);
  }
  Int stands(const Vec& at) const {
    const auto old = mapped_.find(at);
    return old == mapped_.end() ? before(at) : old->second;
  }

  void call(const Call& call) {
    std::vector<Slots> slots(unit_.operands.size());
    std::map<Vec, Vec> stored;  // output slot -> element
    for (const auto& [y, x] : call.points) {
      for (std::size_t t = 0; t < slots.size(); ++t) {
        const int operand = mapping_.operands[t];
        const Vec at = element(kernel_, static_cast<std::size_t>(operand), x), slot = element(unit_, t, y);
        if (t > 0) slots[t][slot] = content(kernel_, seed_, operand, at);
        if (t > 0) continue;
        stored[slot] = at;
        slots[0][slot] = mapping_.partial || unit_.anew ? identity(kernel_.reduction) : stands(at);
      }
    }
    const std::vector<Slots> live = slots;
    for (const Vec& y : points_)
      if (call.points.count(y) == 0) neutralise(call, y, live, slots);
    for (std::size_t p = 0; p < points_.size(); ++p) {
      Vec inputs;
      for (std::size_t t = 1; t < slots.size(); ++t) inputs.push_back(read(slots[t], slots_of_[p][t]));
      const Int old = read(slots[0], slots_of_[p][0]);
      slots[0][slots_of_[p][0]] = combine(unit_.reduction, old, body_of(unit_.body, inputs));
    }
    for (const auto& [slot, at] : stored) {
      mapped_[at] = mapping_.partial ? combine(kernel_.reduction, stands(at), slots[0][slot]) : slots[0][slot];
    }
  }

  /// Inputs that carry a reason get the constant; a live slot is never overwritten.
  void neutralise(const Call& call, const Vec& y, const std::vector<Slots>& live, std::vector<Slots>& slots) {
    for (const std::string& reason : padding_reasons(kernel_, unit_, mapping_, call, y)) {
      for (const Carrier& carrier : mapping_.carriers) {
        const auto t = static_cast<std::size_t>(carrier.operand);
        if (carrier.reason != reason || t == 0) continue;
        const Vec slot = element(unit_, t, y);
        if (live[t].count(slot) == 0) slots[t][slot] = unit_.reduction == Reduction::max ? kill_max : 0;
      }
    }
  }

  Int read(Slots& slots, const Vec& slot) {
    const auto found = slots.find(slot);
    if (found != slots.end()) return found->second;
    ++result_.garbage_reads;
    return slots[slot] = random_.between(1'000, 9'999);
  }

  const Nest& kernel_;
  const Nest& unit_;
  const Mapping& mapping_;
  std::uint64_t seed_;
  Random random_;
  std::vector<Vec> points_;
  std::vector<std::vector<Vec>> slots_of_;
  std::map<Vec, Int> mapped_;
  Execution result_;
};

}  // namespace

Execution execute(const Nest& kernel, const Nest& unit, const Mapping& mapping, std::uint64_t seed) {
  return Run(kernel, unit, mapping, seed).run();
}

}  // namespace isamap::oracle
