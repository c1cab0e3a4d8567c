// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/point_check.h"

#include <fmt/format.h>

namespace isamap {

bool in_space(const Point& point, const std::vector<Decision>& decisions) {
  if (point.choice.size() != decisions.size()) return false;
  for (std::size_t d = 0; d < decisions.size(); ++d)
    if (point.choice[d] < 0 || static_cast<std::size_t>(point.choice[d]) >= decisions[d].labels.size()) return false;
  return true;
}

std::string not_in_space(const Point& point, const std::vector<Decision>& decisions) {
  if (point.choice.size() != decisions.size())
    return fmt::format("the point has {} choices; the space has {} decisions", point.choice.size(), decisions.size());
  for (std::size_t d = 0; d < decisions.size(); ++d) {
    const std::size_t values = decisions[d].labels.size();
    if (point.choice[d] < 0 || static_cast<std::size_t>(point.choice[d]) >= values)
      return fmt::format("choice {} of the point ({}) is {}; there are {} values, from 0", d, decisions[d].name,
                         point.choice[d], values);
  }
  return "";
}

}  // namespace isamap
