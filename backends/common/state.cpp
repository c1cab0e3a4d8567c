// SPDX-License-Identifier: Apache-2.0
#include "backends/common/state.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/encodable_values.h"
#include "ir/legal.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// The state after a setter, given needed and known values; nothing if a fixed value contradicts a need.
std::optional<KnownState> outcome(const HardwareModel& model, const Instruction& setter, const KnownState& needed,
                                  const KnownState& known) {
  KnownState values;
  for (const StateValue& set : setter.sets)
    for (const std::string& field : field_instances(model, set.field)) {
      const auto need = needed.find(field);
      if (!set.any) {
        const auto value = evaluate(set.value, [](const Reference&) { return std::nullopt; });
        if (!value || (need != needed.end() && need->second != *value)) return std::nullopt;
        values[field] = *value;
      } else if (need != needed.end()) {
        values[field] = need->second;
      } else {
        const auto old = known.find(field);
        values[field] = old == known.end() ? 0 : old->second;
      }
    }
  const bool legal = broken_condition(setter, [&](const Reference& r) -> std::optional<std::int64_t> {
                       const auto set = values.find(field_name(r));
                       return set == values.end() ? std::nullopt : std::optional(set->second);
                     }).empty();
  if (!legal) return std::nullopt;
  return values;
}

/// The state that a setter itself needs; nothing: a value depends on an unknown one.
std::optional<KnownState> needs_of(const Instruction& setter, const HardwareModel& model, const KnownState& known) {
  KnownState needed;
  for (const StateValue& need : setter.needs) {
    if (kept_by_language(model, need.field)) continue;
    const auto value = evaluate(need.value, [&](const Reference& r) -> std::optional<std::int64_t> {
      const auto held = known.find(field_name(r));
      return held == known.end() ? std::nullopt : std::optional(held->second);
    });
    if (!value) return std::nullopt;
    needed[need.field] = *value;
  }
  return needed;
}

bool holds(const KnownState& known, const std::string& field, std::int64_t value) {
  const auto found = known.find(field);
  return found != known.end() && found->second == value;
}

/// Legal values of the field, the one at entry first.
std::vector<std::int64_t> values_of(const StateField& field) {
  constexpr std::size_t most = 4096;
  std::vector<std::int64_t> values;
  if (field.reset) values.push_back(*field.reset);
  values.insert(values.end(), field.values.begin(), field.values.end());
  if (!field.values.empty() || field.dtype) return values;
  const std::int64_t step = std::max<std::int64_t>(field.multiple_of, 1);
  for (std::int64_t v = round_up(field.min, step); (field.max == 0 || v <= field.max) && values.size() < most;
       v += step)
    values.push_back(v);
  return values;
}

/// The conditions of `legal` must hold for a use; a state field that occurs in one and is otherwise free needs the
/// first value that satisfies it.
std::optional<Diagnostic> suit_conditions(const Instruction& instruction, const HardwareModel& model,
                                          const Lookup& value_of, KnownState& needed) {
  const Lookup lookup = [&](const Reference& r) -> std::optional<std::int64_t> {
    const auto found = needed.find(field_name(r));
    return found == needed.end() ? value_of(r) : std::optional(found->second);
  };
  for (const Condition& condition : conditions(instruction))
    for (const Reference& r : references(condition)) {
      const std::string field = field_name(r);
      const StateField* declared = r.argument.empty() && !lookup(r) ? state_field(model, field) : nullptr;
      if (declared == nullptr || kept_by_language(model, field)) continue;
      for (const std::int64_t value : values_of(*declared)) {
        needed[field] = value;
        if (broken_condition(instruction, lookup).empty()) break;
        needed.erase(field);
      }
      if (!needed.contains(field))
        return error(fmt::format("'{}' is legal only where {}, and no value of {} makes it so", instruction.name,
                                 isamap::print(condition), field));
    }
  const std::string no = broken_condition(instruction, lookup);
  return no.empty() ? std::nullopt : std::optional(error(no));
}

}  // namespace

std::string field_name(const Reference& r) { return r.property.empty() ? r.object : r.object + "." + r.property; }

KnownState reset_values(const HardwareModel& model) {
  KnownState known;
  for (const State& state : model.states())
    for (const StateField& field : state.fields)
      for (std::int64_t n = 0; field.reset && n < state.count; ++n)
        known[state.name + (state.count > 1 ? std::to_string(n) : "") + "." + field.name] = *field.reset;
  return known;
}

KnownState meet(const KnownState& a, const KnownState& b) {
  KnownState both;
  for (const auto& [field, value] : a)
    if (holds(b, field, value)) both.emplace(field, value);
  return both;
}

std::vector<std::string> field_instances(const HardwareModel& model, const std::string& field) {
  const std::size_t dot = std::min(field.find('.'), field.size());
  const auto memory = model.find_memory(field.substr(0, dot));
  if (!memory) return {field};
  std::vector<std::string> fields;
  for (std::int64_t n = 0; n < std::min<std::int64_t>(model.memory(*memory).count, 4096); ++n)
    fields.push_back(field.substr(0, dot) + std::to_string(n) + field.substr(dot));
  return fields;
}

bool kept_by_language(const HardwareModel& model, const std::string& field) {
  const std::string object = field.substr(0, field.find('.'));
  const State* state = find_state(model.states(), object);
  return state != nullptr &&
         std::find(state->kept_by.begin(), state->kept_by.end(), model.program.language) != state->kept_by.end();
}

Result<KnownState> needed_state(const Instruction& instruction, const HardwareModel& model,
                                const std::function<std::optional<std::int64_t>(const Reference&)>& value_of) {
  KnownState needed;
  for (const Operand& operand : instruction.operands)
    if (!operand.state.empty() && !kept_by_language(model, operand.state)) {
      const auto value = value_of({operand.name, "", ""});
      if (!value) return error(fmt::format("operand '{}' of '{}' has no value here", operand.name, instruction.name));
      needed[operand.state] = *value;
    }
  for (const StateValue& need : instruction.needs) {
    if (kept_by_language(model, need.field)) continue;
    std::string field = need.field;
    const std::size_t dot = std::min(field.find('.'), field.size());
    for (const Operand& operand : instruction.operands) {
      if (operand.name != field.substr(0, dot) || !operand.memory.valid()) continue;
      const auto number = value_of({operand.name, "index", ""});
      if (!number)
        return error(fmt::format("'{}' needs {} of a register that has no number here", instruction.name, field));
      field = model.memory(operand.memory).name + std::to_string(*number) + need.field.substr(dot);
      break;
    }
    const auto value = evaluate(need.value, value_of);
    if (!value)
      return error(fmt::format("'{}' needs {} = {}, which has no value here", instruction.name, need.field,
                               isamap::print(need.value)));
    const auto [found, fresh] = needed.try_emplace(field, *value);
    if (!fresh && found->second != *value)
      return error(fmt::format("'{}' needs {} = {} and {} at once", instruction.name, field, found->second, *value));
  }
  if (auto problem = suit_conditions(instruction, model, value_of, needed)) return *problem;
  return needed;
}

namespace {

constexpr int setters_deep = 2;  // a setter, and the setter of its own needs

Result<std::vector<SetterUse>> place(const HardwareModel& model, const KnownState& needed, const UserOf& user_of,
                                     KnownState& known, int depth);

/// A setter after the setters of its own needs.
struct Way {
  SetterUse use;
  std::vector<SetterUse> before;
  KnownState known;  ///< after all of them
};

/// The setter that gives the field its value and satisfies most other needs. Nothing: the reason is in `refused`.
std::optional<Way> best_way(const HardwareModel& model, const std::pair<std::string, std::int64_t>& wanted,
                            const KnownState& needed, const KnownState& known, int depth,
                            std::optional<Diagnostic>& refused) {
  std::optional<Way> best;
  std::size_t best_met = 0;
  for (const Instruction& candidate : model.instructions()) {
    if (!is_setter(candidate)) continue;
    const auto values = outcome(model, candidate, needed, known);
    if (!values || !holds(*values, wanted.first, wanted.second)) continue;
    const auto met = static_cast<std::size_t>(
        std::count_if(needed.begin(), needed.end(), [&](const auto& n) { return holds(*values, n.first, n.second); }));
    const auto own = met > best_met ? needs_of(candidate, model, known) : std::nullopt;
    if (!own) continue;
    Way way{{&candidate, *values}, {}, known};
    auto before = place(
        model, *own, [&](const std::string&) { return candidate.name; }, way.known, depth - 1);
    if (!before) {
      if (!refused) refused = before.diagnostics().front();
      continue;
    }
    way.before = std::move(*before);
    for (const auto& [name, v] : *values) way.known[name] = v;
    best = std::move(way);
    best_met = met;
  }
  return best;
}

Diagnostic no_setter(const std::string& user, const std::pair<std::string, std::int64_t>& wanted,
                     const KnownState& known, const std::optional<Diagnostic>& refused) {
  const auto old = known.find(wanted.first);
  const std::string text = fmt::format("'{}' needs {} = {}, which holds {}, and ", user, wanted.first, wanted.second,
                                       old == known.end() ? "an unknown value" : std::to_string(old->second));
  if (refused)
    return error(text + "the setter that could give it that value cannot be used here: " + refused->message,
                 "add a setter without that need, or use the instructions in another order");
  return error(text + "no setter can give it that value", "add an instruction without `compute` that `sets` the field");
}

Result<std::vector<SetterUse>> place(const HardwareModel& model, const KnownState& needed, const UserOf& user_of,
                                     KnownState& known, int depth) {
  std::vector<SetterUse> uses;
  for (const auto& wanted : needed) {
    const auto& [field, value] = wanted;
    if (holds(known, field, value)) continue;
    if (const StateField* f = state_field(model, field))
      if (const std::string no = refused_by(*f, value); !no.empty())
        return error(fmt::format("'{}' needs {} = {}, {}", user_of(field), field, value, no));
    std::optional<Diagnostic> refused;
    auto best = depth > 0 ? best_way(model, wanted, needed, known, depth, refused) : std::nullopt;
    if (!best) return no_setter(user_of(field), wanted, known, refused);
    best->before.push_back(std::move(best->use));
    for (SetterUse& use : best->before) {
      if (!use.setter->clobbers.empty() && !uses.empty())
        return error(fmt::format("setter '{}' of '{}' clobbers registers between two uses", use.setter->name, field));
      uses.push_back(std::move(use));
    }
    known = std::move(best->known);
  }
  for (const auto& [field, value] : needed)
    if (!holds(known, field, value))
      return error(fmt::format("'{}' needs {} = {} together with values that its setters exclude", user_of(field),
                               field, value));
  return uses;
}

}  // namespace

Result<std::vector<SetterUse>> place_setters(const HardwareModel& model, const KnownState& needed,
                                             const UserOf& user_of, KnownState& known) {
  return place(model, needed, user_of, known, setters_deep);
}

}  // namespace isamap
