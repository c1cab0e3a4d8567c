// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/thread_binding.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/parallel_units.h"
#include "support/overloaded.h"

namespace isamap {

std::optional<UnitId> grid_unit(const HardwareModel& model) {
  for (std::size_t u = 0; u < model.units().size(); ++u)
    if (const auto outermost = outermost_numbered(model, make_id<UnitId>(u))) return outermost;
  return std::nullopt;
}

bool is_grid_level(const HardwareModel& model, UnitId grid, UnitId unit) { return model.inside(grid, unit); }

namespace {

/// Loops on grid units around each statement: -1 when statements differ.
void grid_depths(const std::vector<Node>& nodes, const HardwareModel& model, UnitId grid, int depth,
                 std::vector<int>& found) {
  for (const Node& node : nodes)
    std::visit(overloaded{[&](const Loop& loop) {
                            const auto unit = model.find_unit(loop.unit);
                            const bool digit = unit && is_grid_level(model, grid, *unit);
                            grid_depths(loop.body, model, grid, depth + (digit ? 1 : 0), found);
                          },
                          [&](const Guard& guard) {
                            grid_depths(guard.then, model, grid, depth, found);
                            grid_depths(guard.otherwise, model, grid, depth, found);
                          },
                          [](const Comment&) {}, [&](const auto&) { found.push_back(depth); }},
               node.is);
}

std::int64_t product(const std::vector<std::int64_t>& digits, std::size_t from) {
  std::int64_t result = 1;
  for (std::size_t d = from; d < digits.size(); ++d) result *= digits[d];
  return result;
}

}  // namespace

ThreadBinding::ThreadBinding(const std::vector<Node>& kernel, const HardwareModel& model, UnitId grid,
                             const std::map<std::string, std::string>* trips)
    : model_(model), grid_(grid), trips_(trips) {
  for (std::size_t u = 0; u < model.units().size(); ++u) {
    const UnitId id = make_id<UnitId>(u);
    if (id != grid && model.inside(id, grid) && !model.unit(id).index.empty()) inside_.push_back(id);
  }
  std::sort(inside_.begin(), inside_.end(), [&](UnitId a, UnitId b) { return a != b && model.inside(b, a); });
  std::vector<int> depths;
  grid_depths(kernel, model, grid, 0, depths);
  grid_loops_ = std::all_of(depths.begin(), depths.end(), [&](int d) { return d == depths.front(); });
  std::vector<const Loop*> around;
  collect(kernel, around);
}

bool ThreadBinding::same_digit(UnitId a, UnitId b) const {
  return a == b || (is_grid_level(model_, grid_, a) && is_grid_level(model_, grid_, b));
}

std::size_t ThreadBinding::depth_of(const Dialect::Around& around, UnitId unit, std::size_t before) const {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < before; ++i)
    if (const auto other = model_.find_unit(around[i]->unit); other && same_digit(*other, unit)) ++depth;
  return depth;
}

void ThreadBinding::collect(const std::vector<Node>& nodes, std::vector<const Loop*>& around) {
  for (const Node& node : nodes) {
    if (const auto* guard = std::get_if<Guard>(&node.is)) {
      collect(guard->then, around);
      collect(guard->otherwise, around);
    }
    if (const auto* call = std::get_if<Call>(&node.is))
      calls_of_several_ = calls_of_several_ || of_several_threads(*call);
    const auto* loop = std::get_if<Loop>(&node.is);
    if (loop == nullptr) continue;
    const auto unit = model_.find_unit(loop->unit);
    if (unit) {
      const UnitId key = is_grid_level(model_, grid_, *unit) ? grid_ : *unit;
      std::vector<std::int64_t>& digits = digits_[key.value];
      const std::size_t depth = depth_of(around, *unit, around.size());
      if (digits.size() <= depth) digits.resize(depth + 1, 1);
      digits[depth] = std::max(digits[depth], loop->trip);
      if (key == grid_ && trips_ != nullptr) {
        const auto known = trips_->find(loop->variable);
        grid_trips_.resize(std::max(grid_trips_.size(), depth + 1));
        grid_trips_[depth] = known == trips_->end() ? std::to_string(loop->trip) : "(" + known->second + ")";
      }
      if (key == grid_) {  // all loops on blocks are persistent with the same number of blocks, or none is
        if (seen_grid_ && turns_ != loop->instances) grid_loops_ = false;
        seen_grid_ = true;
        turns_ = loop->instances;
      }
      around.push_back(loop);
    }
    collect(loop->body, around);
    if (unit) around.pop_back();
  }
}

/// A unit with a fixed count has all of its instances.
std::int64_t ThreadBinding::instances(UnitId unit) const {
  return model_.unit(unit).at_most ? used(unit) : std::max(model_.unit(unit).count, used(unit));
}
std::int64_t ThreadBinding::used(UnitId unit) const {
  const auto found = digits_.find(unit.value);
  return found == digits_.end() ? 1 : product(found->second, 0);
}

std::vector<std::int64_t> ThreadBinding::digits(UnitId unit) const {
  const auto found = digits_.find(unit.value);
  return found == digits_.end() ? std::vector<std::int64_t>{} : found->second;
}

/// For a unit inside the grid unit that contains other units.
bool ThreadBinding::of_several_threads(const Call& call) const {
  const UnitId unit = model_.instruction(call.instruction).unit;
  return unit != grid_ && model_.inside(unit, grid_) && !inside_.empty() && unit != inside_.back();
}

bool ThreadBinding::asks_for_threads() const {
  return calls_of_several_ ||
         std::any_of(digits_.begin(), digits_.end(), [&](const auto& entry) { return entry.first != grid_.value; });
}

std::int64_t ThreadBinding::blocks() const { return !grid_loops_ ? 1 : turns_ > 0 ? turns_ : used(grid_); }

std::string ThreadBinding::grid_digits_text(std::size_t from) const {
  std::string text;
  for (std::size_t d = from; d < grid_trips_.size(); ++d) text += (text.empty() ? "" : " * ") + grid_trips_[d];
  return text.empty() ? "1" : text;
}
std::string ThreadBinding::blocks_text() const {
  return trips_ != nullptr && grid_loops_ ? grid_digits_text(0) : std::to_string(blocks());
}

std::int64_t ThreadBinding::threads() const {
  std::int64_t result = 1;
  for (const UnitId unit : inside_) result *= instances(unit);
  return result;
}

std::optional<Dialect::Number> ThreadBinding::number(const Dialect::Around& around) const {
  const Loop& loop = *around.back();
  const auto unit = model_.find_unit(loop.unit);
  if (!unit) return std::nullopt;
  const bool grid = is_grid_level(model_, grid_, *unit);
  if (grid && !grid_loops_) return std::nullopt;
  const UnitId key = grid ? grid_ : *unit;
  const bool takes_turns = grid && turns_ > 0;  // then all loops on blocks do
  const std::string index = takes_turns ? Dialect::turn : model_.unit(key).index;
  if (index.empty()) return std::nullopt;
  const std::vector<std::int64_t>& digits = digits_.at(key.value);
  const std::size_t depth = depth_of(around, *unit, around.size() - 1);
  if (grid && trips_ != nullptr) return number_of_block(index, depth, loop);
  const std::int64_t below = product(digits, depth + 1);
  const std::int64_t all = grid ? used(grid_) : instances(key);
  const bool simple = index.find(' ') == std::string::npos;
  std::string text = below == 1 && depth == 0 ? index : simple ? index : "(" + index + ")";
  if (below > 1) text += fmt::format(" / {}", below);
  if (depth > 0) text += fmt::format(" % {}", digits[depth]);
  // Guards against index values of this digit beyond the trip count.
  const std::int64_t numbers = depth > 0 ? digits[depth] : (all + below - 1) / below;
  Dialect::Number number{text, loop.trip < numbers ? fmt::format("{} < {}", text, loop.trip) : "", 0, 0, ""};
  if (takes_turns && depth == 0) {
    number.turns = all;
    number.step = turns_;
    number.first = model_.unit(key).index;
  }
  return number;
}

/// With trips that are known at the call.
Dialect::Number ThreadBinding::number_of_block(const std::string& index, std::size_t depth, const Loop& loop) const {
  std::string text = index;
  if (depth + 1 < grid_trips_.size()) text += " / (" + grid_digits_text(depth + 1) + ")";
  if (depth > 0) text += " % " + grid_trips_[depth];
  const auto known = trips_->find(loop.variable);
  const std::string trip = known == trips_->end() ? std::to_string(loop.trip) : "(" + known->second + ")";
  return {text, trip == grid_trips_[depth] ? "" : fmt::format("{} < {}", text, trip), 0, 0, ""};
}

std::string ThreadBinding::chosen(const Dialect::Around& around, UnitId executor, bool one) const {
  std::string text;
  for (const UnitId unit : inside_) {
    const bool takes_part = unit != executor && model_.inside(unit, executor);
    if (takes_part && !one) continue;
    const std::int64_t all = instances(unit);
    if (all == 1) continue;
    const auto found = digits_.find(unit.value);
    const std::size_t depth = depth_of(around, unit, around.size());
    // Digits not bound by an enclosing loop: one instance executes.
    const std::int64_t below = found == digits_.end() ? all : product(found->second, depth);
    const std::string& index = model_.unit(unit).index;
    if (depth == 0)
      text += fmt::format("{}{} == 0", text.empty() ? "" : " && ", index);
    else if (below > 1)
      text += fmt::format("{}({}) % {} == 0", text.empty() ? "" : " && ", index, below);
  }
  return text;
}

}  // namespace isamap
