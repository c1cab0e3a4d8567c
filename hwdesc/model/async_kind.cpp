// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/async_kind.h"

#include <algorithm>

namespace isamap {
namespace {

bool completes(const Instruction& instruction, AsyncKind kind, const HardwareModel& model) {
  const auto& objects = model.async_objects();
  return std::any_of(objects.begin(), objects.end(),
                     [&](const AsyncObject& o) { return o.kind == kind && o.name == instruction.async_by; });
}

}  // namespace

std::string_view name(AsyncKind kind) {
  constexpr std::string_view names[] = {"groups", "phases", "fence", "tokens"};
  return names[static_cast<std::size_t>(kind)];
}

bool completes_in_groups(const Instruction& instruction, const HardwareModel& model) {
  return completes(instruction, AsyncKind::groups, model);
}

bool completes_by_counter(const Instruction& instruction, const HardwareModel& model) {
  return completes(instruction, AsyncKind::phases, model);
}

bool completes_by_fence(const Instruction& instruction, const HardwareModel& model) {
  return completes(instruction, AsyncKind::fence, model);
}

}  // namespace isamap
