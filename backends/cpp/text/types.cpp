// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/types.h"

namespace isamap {

std::string portable_type(DType type) { return std::string(format_of(type).c_type); }

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
