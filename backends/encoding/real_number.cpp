// SPDX-License-Identifier: Apache-2.0
#include "backends/encoding/real_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "hwdesc/model/encodable_values.h"

namespace isamap {
namespace {

std::optional<DType> field_type(const std::vector<StateField>& fields, const std::string& name) {
  for (const StateField& field : fields)
    if (field.name == name && field.dtype && is_float(*field.dtype)) return field.dtype;
  return std::nullopt;
}

}  // namespace

std::optional<DType> real_type(const Reference& reference, const Instruction& instruction, const HardwareModel& model) {
  if (!reference.argument.empty()) return std::nullopt;
  for (const Operand& operand : instruction.operands) {
    if (operand.name != reference.object) continue;
    if (operand.memory.valid()) return field_type(model.memory(operand.memory).fields, reference.property);
    return operand.dtype && is_float(*operand.dtype) ? operand.dtype : std::nullopt;
  }
  if (const State* state = find_state(model.states(), reference.object))
    return field_type(state->fields, reference.property);
  const auto memory = model.find_memory(reference.object);
  return memory ? field_type(model.memory(*memory).fields, reference.property) : std::nullopt;
}

std::string number_text(std::int64_t value, const Placeholder& placeholder, const Instruction& instruction,
                        const HardwareModel& model) {
  if (placeholder.hexadecimal) return fmt::format("0x{:x}", static_cast<std::uint64_t>(value));
  const bool alone = placeholder.expr.op == IntExpr::Op::reference;
  const auto type = alone ? real_type(placeholder.expr.reference, instruction, model) : std::nullopt;
  if (!type) return std::to_string(value);
  const double real = decode(*type, static_cast<std::uint64_t>(value)).real;
  return *type == DType::f64 ? fmt::format("{}", real) : fmt::format("{}", static_cast<float>(real));
}

std::optional<std::int64_t> take_real(DType type, std::string_view& text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc()) return std::nullopt;
  text = std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end));
  return static_cast<std::int64_t>(encode(type, convert({value, 0}, DType::f64, type, false)));
}

}  // namespace isamap
