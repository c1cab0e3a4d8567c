// SPDX-License-Identifier: Apache-2.0
#include "mapper/alternative_digit_orders.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "mapper/deduplicate.h"

namespace isamap {

struct AlternativeDigitOrders::Frame {
  Alignment alignment;
  Choices choices;
};

namespace {

SlotSet slots_of(const Choices& choices, const DigitStep& digit_step) {
  SlotSet set = 0;
  for (std::size_t s = 0; s < choices.slots.size(); ++s)
    for (const DigitStep::Place& place : digit_step.places)
      if (std::count(choices.slots[s].dims.begin(), choices.slots[s].dims.end(), place.dim) > 0) set |= SlotSet{1} << s;
  return set;
}

/// The home of a direction in a mapping; -1: none; nothing where the rule has no such home.
std::optional<int> home_in(const Choices& choices, const Direction& direction,
                           const std::vector<DigitStep>& digit_steps) {
  SlotSet slots = 0;
  for (const DigitStep& digit_step : digit_steps)
    if (digit_step.extent > 1 && parallel(digit_step.column, direction.column)) slots |= slots_of(choices, digit_step);
  if (slots == 0) return -1;
  for (std::size_t h = 0; h < direction.homes.size(); ++h)
    if (direction.homes[h].slots() == slots && !direction.homes[h].partial) return static_cast<int>(h);
  return std::nullopt;
}

/// The placement of a mapping's directions; nothing where it is no member of the class.
std::optional<Placement> placement_of(const Choices& choices, const std::vector<DigitStep>& digit_steps) {
  Placement placement;
  for (const Direction& direction : choices.directions) {
    const auto home = home_in(choices, direction, digit_steps);
    if (!home) return std::nullopt;
    placement.push_back(*home);
  }
  return placement;
}

/// The smallest step of the output by a digit along this column.
std::int64_t finest(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const IntVector& column) {
  std::int64_t least = INT64_MAX;
  for (const DigitStep& digit_step : digit_steps) {
    if (digit_step.extent <= 1 || !parallel(digit_step.column, column)) continue;
    std::int64_t size = 0;
    for (const std::int64_t x : output_image(alignment, digit_step.column)) size += std::abs(x);
    least = std::min(least, size);
  }
  return least;
}

/// Do the mapping's digits count in the order of this plan?
bool counts_so(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Plan& plan) {
  return std::all_of(plan.orders.begin(), plan.orders.end(), [&](const Order& order) {
    const auto step = [&](int l) {
      return finest(alignment, digit_steps, plan.placed[static_cast<std::size_t>(l)].column);
    };
    return step(order.inner) < step(order.outer);
  });
}

/// Which digit of each pair is the finer one.
std::vector<std::pair<int, int>> order_of(const Plan& plan) {
  std::vector<std::pair<int, int>> order;
  for (const Order& pair : plan.orders) order.emplace_back(pair.inner, pair.outer);
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

std::vector<Mapping> AlternativeDigitOrders::of(const Mapping& mapping, const Instruction& instruction) {
  std::shared_ptr<const Frame>& frame =
      frames_[{mapping.statement, mapping.instruction, mapping.operands, mapping.rolled.empty()}];
  if (frame == nullptr) {
    Alignment alignment = alignment_of(kernel_, instruction, mapping);
    Choices choices = choices_of(alignment, Rule::all);
    frame = std::make_shared<const Frame>(Frame{std::move(alignment), std::move(choices)});
  }
  const auto& [alignment, choices] = *frame;
  const auto digit_steps = digit_steps_of(alignment, mapping.dims);
  if (!alignment.projection || !digit_steps) return {};
  const auto placement = placement_of(choices, *digit_steps);
  if (!placement) return {};
  const Plans plans = plans_of(alignment, choices, *placement, Rule::all);

  MapOptions options;
  options.rule = Rule::all;
  const auto mappings_of = [&](const Plan& plan) {
    PairMappings ignored;
    std::vector<Mapping> found;
    const Sink keep = [&](Mapping&& one) {
      one.id = mapping.id;
      found.push_back(std::move(one));
      return true;
    };
    Deduplicator(instruction, options, ignored, keep).add(alignment, choices, {{{plan}}, {}});
    return found;
  };
  const auto counts_alike = [&](const Plan& plan) { return counts_so(alignment, *digit_steps, plan); };
  const auto has_order_of_mapping =
      [&](const Plan& plan) {  // one order makes two entries where digits may be cut or not
        if (plan.orders.empty() || !counts_alike(plan)) return plan.orders.empty();
        const std::vector<Mapping> found = mappings_of(plan);
        return std::any_of(found.begin(), found.end(), [&](const Mapping& one) { return one.dims == mapping.dims; });
      };
  std::vector<Plan> candidates = plans.others;
  std::set<std::vector<std::pair<int, int>>> had;  // plans of one order may differ in extents
  const std::vector<Plan>* own = nullptr;
  for (const std::vector<Plan>& entry : plans.entries) {
    if (own == nullptr && std::any_of(entry.begin(), entry.end(), has_order_of_mapping)) {
      own = &entry;
      candidates.insert(candidates.end(), entry.begin(), entry.end());
      continue;
    }
    const auto listed =
        std::find_if(entry.begin(), entry.end(), [&](const Plan& plan) { return !mappings_of(plan).empty(); });
    if (listed == entry.end()) continue;
    if (own == nullptr) return {};  // it belongs to an earlier entry
    had.insert(order_of(*listed));
  }
  std::vector<Mapping> others;
  for (const Plan& plan : candidates) {
    if (counts_alike(plan) || had.count(order_of(plan)) > 0) continue;
    for (Mapping& one : mappings_of(plan)) {
      had.insert(order_of(plan));
      others.push_back(std::move(one));
    }
  }
  return others;
}

}  // namespace isamap
