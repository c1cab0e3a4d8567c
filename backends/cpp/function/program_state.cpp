// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/program_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace isamap {
namespace {

UserOf first_user(const StateNeeds& needs) {
  return [&needs](const std::string& field) { return needs.users.at(field); };
}

}  // namespace

ProgramState::ProgramState(const HardwareModel& model, CallContext& context,
                           std::function<void(const std::string&)> print)
    : model_(model),
      context_(context),
      print_(std::move(print)),
      known_(reset_values(model)),
      matters_(std::any_of(model.instructions().begin(), model.instructions().end(),
                           [](const Instruction& i) { return !i.needs.empty() || !i.sets.empty(); })) {
  for (const Instruction& setter : model.instructions()) {
    if (!is_setter(setter) || setter.clobbers.empty()) continue;
    erased_.insert(setter.clobbers.begin(), setter.clobbers.end());
    for (const StateValue& set : setter.sets)
      for (std::string& field : field_instances(model, set.field)) erasing_.insert(std::move(field));
  }
}

void ProgramState::function(const std::vector<Item>& items, const std::function<void()>& body) {
  matters_ ? with_own_state(items, body, "the end of the function") : body();
}

void ProgramState::thread(const std::vector<Item>& items, const std::function<void()>& body) {
  if (!matters_) return body();
  const std::set<std::string> fields = std::exchange(set_fields_, {});
  const std::vector<std::string> resets = std::exchange(resets_, {});
  const auto fresh = [&] { known_ = reset_values(model_), at_start_ = true; };
  fresh();
  ++threads_;
  const std::vector<Open> around = std::exchange(open_, {});
  with_own_state(items, body, "the end of a thread");
  open_ = around;
  --threads_;
  fresh();
  set_fields_ = fields;
  resets_ = resets;
}

void ProgramState::with_own_state(const std::vector<Item>& items, const std::function<void()>& body,
                                  const std::string& end) {
  const StateNeeds needs = state_needs(items, context_);
  set(stable_needs(needs, unstable_fields(needs, model_)), first_user(needs));
  body();
  KnownState changed;
  for (const auto& [field, value] : reset_values(model_))
    if (set_fields_.contains(field)) changed.emplace(field, value);
  set(changed, [&](const std::string&) { return end; });
  for (const std::string& text : resets_) print_(text);
}

void ProgramState::block(const std::vector<Item>& items, const std::function<void()>& body) {
  if (erasing_.empty()) return body();
  LiveRegisters after;
  if (!open_.empty()) {
    const Open& around = open_.back();
    after = live_at_end_of_body((*around.items)[around.item], around.live[around.item + 1], context_.program, model_);
  }
  open_.push_back({&items, live_before(items, after, context_.program, model_), 0});
  body();
  open_.pop_back();
}

bool ProgramState::erases_something(std::size_t item) const {
  const LiveRegisters& live = open_.back().live[item];
  return std::any_of(live.begin(), live.end(), [&](const auto& r) { return erased_.contains(r.first); });
}

void ProgramState::before_item(std::size_t item) {
  if (erasing_.empty()) return;
  const std::vector<Item>& items = *open_.back().items;
  open_.back().item = item;
  if (erases_something(item)) return;
  std::size_t end = item + 1;
  while (end < items.size() && erases_something(end)) ++end;
  const std::span<const Item> alike(items.data() + item, end - item);
  const StateNeeds needs = state_needs(alike, context_);
  KnownState needed = stable_needs(needs, unstable_fields(needs, model_));
  std::erase_if(needed, [&](const auto& n) { return !erasing_.contains(n.first); });
  set(needed, first_user(needs));
}

bool ProgramState::may_erase(const Instruction& setter) const {
  if (open_.empty()) return true;
  const LiveRegisters& live = open_.back().live[open_.back().item];
  return std::none_of(live.begin(), live.end(), [&](const auto& r) {
    return std::find(setter.clobbers.begin(), setter.clobbers.end(), r.first) != setter.clobbers.end();
  });
}

void ProgramState::before_loop(const std::vector<Item>& body) {
  if (!matters_) return;
  const StateNeeds needs = state_needs(body, context_);
  const auto unstable = unstable_fields(needs, model_);
  set(stable_needs(needs, unstable), first_user(needs));
  if (!needs.values.empty() || !needs.disturbed.empty()) at_start_ = false;
  for (const std::string& field : unstable) known_.erase(field);
}

void ProgramState::before_call(const Item& item, const Call& call) {
  const Instruction& instruction = model_.instruction(call.instruction);
  if (instruction.needs.empty()) return;
  const auto needed = needed_by(item, call, context_);
  if (!needed) return context_.diagnostics.push_back(needed.diagnostics().front());
  set(*needed, [&](const std::string&) { return instruction.name; });
  at_start_ = false;
}

void ProgramState::after_call(const Instruction& instruction) {
  for (const StateValue& set : instruction.sets)
    for (const std::string& field : field_instances(model_, set.field)) {
      const auto value = set.any ? std::nullopt : evaluate(set.value, [](const Reference&) { return std::nullopt; });
      known_.erase(field);
      if (value) known_[field] = *value;
      set_fields_.insert(field);
    }
}

void ProgramState::either(const std::function<void()>& one, const std::function<void()>& other) {
  const KnownState before = known_;
  one();
  const KnownState after = std::exchange(known_, before);
  other();
  known_ = meet(after, known_);
}

void ProgramState::set(const KnownState& needed, const UserOf& user_of) {
  if (needed.empty()) return;
  const auto uses = place_setters(model_, needed, user_of, known_);
  if (!uses) return context_.diagnostics.push_back(uses.diagnostics().front());
  for (const SetterUse& use : *uses) {
    const Instruction& setter = *use.setter;
    if (setter.of_function) {
      set_throughout(use, user_of(needed.begin()->first));
      continue;
    }
    if (!may_erase(setter))
      context_.diagnostics.push_back(
          error_at(setter.where,
                   fmt::format("'{}' needs '{}' between uses of the registers of '{}', which it clobbers",
                               user_of(needed.begin()->first), setter.name, model_.memory(setter.clobbers[0]).name),
                   "while a register is live the state of its file must not change"));
    print_(setter_text(use, known_, context_));
    for (const auto& [field, value] : use.values) set_fields_.insert(field);
    if (!setter.reset.empty() && std::find(resets_.begin(), resets_.end(), setter.reset) == resets_.end())
      resets_.push_back(setter.reset);
  }
}

/// State with `scope: function`: entered and left with the function.
void ProgramState::set_throughout(const SetterUse& use, const std::string& user) {
  if (threads_ > 0)
    context_.diagnostics.push_back(error_at(
        use.setter->where,
        fmt::format(
            "'{}' needs '{}', which is valid for one function; the threads of a parallel loop execute another function",
            user, use.setter->name)));
  else if (!at_start_)
    context_.diagnostics.push_back(error_at(
        use.setter->where,
        fmt::format(
            "'{}' needs '{}', which is valid for a whole function, and other uses in the function need another state",
            user, use.setter->name)));
  attributes_ += (attributes_.empty() ? "" : " ") + setter_text(use, known_, context_);
}

}  // namespace isamap
