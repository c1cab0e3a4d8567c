// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/encodable_values.h"

#include <fmt/format.h>

#include <algorithm>

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

const StateField* state_field(const HardwareModel& model, const std::string& field) {
  const std::size_t dot = std::min(field.find('.'), field.size());
  const auto member = [&](const std::string& owner, bool numbered, const std::vector<StateField>& fields) {
    const std::string number = field.starts_with(owner) ? field.substr(owner.size(), dot - owner.size()) : "?";
    if (number.empty() == numbered || number.find_first_not_of("0123456789") != std::string::npos)
      return static_cast<const StateField*>(nullptr);
    for (const StateField& f : fields)
      if (dot < field.size() && f.name == field.substr(dot + 1)) return &f;
    return static_cast<const StateField*>(nullptr);
  };
  for (const State& s : model.states())
    if (const auto* found = member(s.name, s.count > 1, s.fields)) return found;
  for (const Memory& m : model.memories())
    if (const auto* found = member(m.name, true, m.fields)) return found;
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
