// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/updates.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>

namespace isamap::importing {

std::string combined_update(Maker& m, const std::string& element, const std::string& how, const std::string& hit,
                            const std::string& update) {
  static const std::map<std::string, Reduction> all = {
      {"add", Reduction::add}, {"mul", Reduction::mul}, {"max", Reduction::max}, {"min", Reduction::min}};
  const auto found = all.find(how);
  if (found == all.end()) throw contradiction("the reduction '" + how + "' has no meaning");
  Scalar start = identity(found->second, m.dtype(0));
  if (found->second == Reduction::add) start.real = -0.0;  // 0.0 would change elements that are -0.0
  const std::string neutral = m.scalar("N", m.dtype(0), start);
  return fmt::format("{} {} select({}, {}, {})", element, symbol(found->second), hit, update, neutral);
}

std::string last_update(const std::string& to, const std::string& hit) {
  return fmt::format("{} max= select({}, value(u), {})", to, hit, INT32_MIN);
}

}  // namespace isamap::importing
