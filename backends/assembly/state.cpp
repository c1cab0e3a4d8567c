#include "backends/assembly/state.h"

#include <fmt/format.h>

#include <algorithm>

namespace isamap {
namespace {

/// What a setter would leave, given what is needed and known; nothing if one of its fixed values contradicts a need.
std::optional<KnownState> outcome(const Instruction& setter, const KnownState& needed, const KnownState& known) {
  KnownState values;
  for (const StateValue& set : setter.sets) {
    const auto need = needed.find(set.field);
    if (!set.any) {
      const auto value = evaluate(set.value, [](const Reference&) { return std::nullopt; });
      if (!value || (need != needed.end() && need->second != *value)) return std::nullopt;
      values[set.field] = *value;
    } else if (need != needed.end()) {
      values[set.field] = need->second;
    } else {
      const auto old = known.find(set.field);
      values[set.field] = old == known.end() ? 0 : old->second;
    }
  }
  return values;
}

bool holds(const KnownState& known, const std::string& field, std::int64_t value) {
  const auto found = known.find(field);
  return found != known.end() && found->second == value;
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

Result<std::vector<SetterUse>> place_setters(const HardwareModel& model, const KnownState& needed,
                                             const std::string& user, KnownState& known) {
  std::vector<SetterUse> uses;
  for (const auto& [field, value] : needed) {
    if (holds(known, field, value)) continue;
    std::optional<SetterUse> best;
    std::size_t best_met = 0;
    for (const Instruction& candidate : model.instructions()) {
      if (!is_setter(candidate)) continue;
      const auto values = outcome(candidate, needed, known);
      if (!values || !holds(*values, field, value)) continue;
      const auto met = static_cast<std::size_t>(std::count_if(
          needed.begin(), needed.end(), [&](const auto& n) { return holds(*values, n.first, n.second); }));
      if (met > best_met) {
        best = SetterUse{&candidate, *values};
        best_met = met;
      }
    }
    if (!best) {
      const auto old = known.find(field);
      return error(fmt::format("'{}' needs {} = {}, which holds {}, and no setter can give it that value", user, field,
                               value, old == known.end() ? "an unknown value" : std::to_string(old->second)),
                   "add an instruction without `compute` that `sets` the field");
    }
    if (!best->setter->clobbers.empty() && !uses.empty())
      return error(fmt::format("setter '{}' of '{}' destroys registers between two uses", best->setter->name, field));
    for (const auto& [name, v] : best->values) known[name] = v;
    uses.push_back(std::move(*best));
  }
  for (const auto& [field, value] : needed)
    if (!holds(known, field, value))
      return error(fmt::format("'{}' needs {} = {} together with values that its setters exclude", user, field, value));
  return uses;
}

}  // namespace isamap
