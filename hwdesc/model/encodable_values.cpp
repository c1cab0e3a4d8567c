// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/encodable_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace isamap {

std::optional<DType> moved_type(const Instruction& move, const std::vector<Instruction>& all) {
  for (const Operand& operand : move.operands)
    if (operand.dtype) return operand.dtype;
  for (const Operand& end : move.operands) {  // the written one first
    std::optional<DType> only;
    bool several = false;
    for (const Instruction& other : all)
      for (const Operand& operand : is_compute(other) ? other.operands : std::vector<Operand>{}) {
        if (!operand.dtype || !end.memory.valid() || operand.memory != end.memory) continue;
        several = several || (only && *only != *operand.dtype);
        only = operand.dtype;
      }
    if (several) return std::nullopt;
    if (only) return only;
  }
  return std::nullopt;
}

const State* find_state(const std::vector<State>& states, const std::string& instance) {
  const auto found = std::find_if(states.begin(), states.end(), [&](const State& state) {
    if (state.count == 1) return state.name == instance;
    if (!instance.starts_with(state.name)) return false;
    const char* const begin = instance.data() + state.name.size();
    const char* const end = instance.data() + instance.size();
    std::int64_t number = -1;
    const auto [stop, problem] = std::from_chars(begin, end, number);
    return problem == std::errc() && number >= 0 && number < state.count && std::to_string(number) == begin;
  });
  return found == states.end() ? nullptr : &*found;
}

const StateField* state_field(const HardwareModel& model, const std::string& field) {
  const std::size_t dot = field.find('.');
  if (dot == std::string::npos) return nullptr;
  const std::string owner = field.substr(0, dot), name = field.substr(dot + 1);
  const auto named = [&](const std::vector<StateField>& fields) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const StateField& f) { return f.name == name; });
    return found == fields.end() ? nullptr : &*found;
  };
  if (const State* state = find_state(model.states(), owner))
    if (const StateField* found = named(state->fields)) return found;
  for (const Memory& memory : model.memories()) {
    const std::string number = owner.starts_with(memory.name) ? owner.substr(memory.name.size()) : "";
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) continue;
    if (const StateField* found = named(memory.fields)) return found;
  }
  return nullptr;
}

std::string refused_by(const StateField& field, std::int64_t value) {
  if (!field.values.empty() && std::find(field.values.begin(), field.values.end(), value) == field.values.end())
    return "which is none of its values";
  if (field.values.empty() && !field.dtype && (value < field.min || (field.max > 0 && value > field.max)))
    return fmt::format("which holds {}..{}", field.min, field.max > 0 ? std::to_string(field.max) : "");
  if (field.multiple_of > 1 && value % field.multiple_of != 0)
    return fmt::format("which holds multiples of {}", field.multiple_of);
  return "";
}

std::optional<Interval> range_of(const FormatField& field) {
  const int width = field.count > 0 ? field.width : field.high - field.low + 1;
  if (width >= 64 || width < 1) return std::nullopt;
  const std::int64_t half = std::int64_t{1} << (width - 1);
  return field.is_signed ? Interval{-half, half - 1} : Interval{0, half - 1 + half};
}

std::string refused_by(const FormatField& field, std::int64_t value) {
  const auto range = range_of(field);
  return !range || (value >= range->low && value <= range->high)
             ? ""
             : fmt::format("which holds {}..{}", range->low, range->high);
}

}  // namespace isamap
