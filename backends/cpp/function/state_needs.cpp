// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/state_needs.h"

#include <algorithm>

#include "support/overloaded.h"

namespace isamap {
namespace {

void need(StateNeeds& all, const std::string& field, const std::optional<std::int64_t>& value,
          const std::string& user) {
  all.users.try_emplace(field, user);
  const auto [found, fresh] = all.values.try_emplace(field, value);
  if (!fresh && found->second != value) found->second.reset();
}

void add(StateNeeds& all, const StateNeeds& inner) {
  for (const auto& [field, value] : inner.values) need(all, field, value, inner.users.at(field));
  all.disturbed.insert(inner.disturbed.begin(), inner.disturbed.end());
}

}  // namespace

bool in_threads(const Loop& loop, const HardwareModel& model) {
  const auto unit = model.find_unit(loop.unit);
  return unit && !model.unit(*unit).threads.loop.empty();
}

StateNeeds state_needs(std::span<const Item> items, CallContext& context) {
  StateNeeds all;
  for (const Item& item : items)
    std::visit(overloaded{
                   [&](const Loop& loop) {
                     StateNeeds inner = state_needs(item.body, context);
                     if (!in_threads(loop, context.model)) return add(all, inner);
                     all.disturbed.merge(inner.disturbed);
                     for (const auto& [field, value] : inner.values) all.disturbed.insert(field);
                   },
                   [&](const Guard&) {
                     add(all, state_needs(item.body, context));
                     add(all, state_needs(item.otherwise, context));
                   },
                   [&](const Call& call) {
                     const Instruction& instruction = context.model.instruction(call.instruction);
                     for (const StateValue& set : instruction.sets)
                       for (const std::string& field : field_instances(context.model, set.field))
                         all.disturbed.insert(field);
                     if (instruction.needs.empty()) return;
                     const auto needed = needed_by(item, call, context);
                     if (!needed) return;  // reported when the call is printed
                     for (const auto& [field, value] : *needed) need(all, field, value, instruction.name);
                   },
                   [](const auto&) {},
               },
               item.node->is);
  return all;
}

std::set<std::string> unstable_fields(const StateNeeds& needs, const HardwareModel& model) {
  std::set<std::string> unstable = needs.disturbed;
  for (const auto& [field, value] : needs.values)
    if (!value) unstable.insert(field);
  for (bool grows = true; grows;) {
    const std::size_t before = unstable.size();
    for (const Instruction& setter : model.instructions()) {
      if (!is_setter(setter)) continue;
      std::vector<std::string> fields;
      for (const StateValue& set : setter.sets)
        for (const std::string& field : field_instances(model, set.field)) fields.push_back(field);
      if (std::any_of(fields.begin(), fields.end(), [&](const std::string& f) { return unstable.contains(f); }))
        unstable.insert(fields.begin(), fields.end());
    }
    grows = unstable.size() > before;
  }
  return unstable;
}

KnownState stable_needs(const StateNeeds& needs, const std::set<std::string>& unstable) {
  KnownState stable;
  for (const auto& [field, value] : needs.values)
    if (value && !unstable.contains(field)) stable.emplace(field, *value);
  return stable;
}

}  // namespace isamap
