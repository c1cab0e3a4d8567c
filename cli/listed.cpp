// SPDX-License-Identifier: Apache-2.0
#include "cli/listed.h"

#include <fmt/format.h>

namespace isamap::cli {

std::string listed(const std::vector<InstructionId>& ids, const HardwareModel& model) {
  constexpr std::size_t shown = 4;
  std::string text;
  const std::size_t count = ids.size() > shown + 1 ? shown : ids.size();
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : i + 1 == ids.size() ? " and " : ", ") + model.instruction(ids[i]).name;
  return count == ids.size() ? text : text + fmt::format(" and {} more", ids.size() - count);
}

}  // namespace isamap::cli
