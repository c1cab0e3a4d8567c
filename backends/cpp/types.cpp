// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/types.h"

namespace isamap {

std::string portable_type(DType type) {
  switch (type) {
    case DType::f64:
      return "double";
    case DType::f32:
    case DType::tf32:
      return "float";
    case DType::s64:
      return "std::int64_t";
    case DType::s32:
      return "std::int32_t";
    case DType::s16:
      return "std::int16_t";
    case DType::s8:
      return "std::int8_t";
    case DType::b64:
      return "std::uint64_t";
    case DType::u32:
    case DType::b32:
      return "std::uint32_t";
    case DType::u16:
    case DType::f16:
    case DType::bf16:
    case DType::b16:
      return "std::uint16_t";
    case DType::u8:
    case DType::b8:
    case DType::b1:
    case DType::e4m3:
    case DType::e5m2:
      return "std::uint8_t";
  }
  return "std::uint8_t";
}

std::string element_type(const HardwareModel& model, DType type) {
  const auto found = model.program.types.find(std::string(name(type)));
  return found == model.program.types.end() ? portable_type(type) : found->second;
}

std::optional<std::string> register_type(const HardwareModel& model, const Buffer& buffer) {
  const std::string wanted(name(buffer.dtype));
  std::optional<std::string> any;
  for (const auto& [dtype, type] : model.memory(buffer.memory).value) {
    if (dtype == wanted) {
      any = type;
      break;
    }
    if (dtype == "any") any = type;
  }
  if (!any) return std::nullopt;
  const std::string mark = "{group}";
  for (std::size_t at = any->find(mark); at != std::string::npos; at = any->find(mark, at))
    any->replace(at, mark.size(), std::to_string(buffer.registers_per_slot));
  return any;
}

}  // namespace isamap
