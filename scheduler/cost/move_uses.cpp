// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/move_uses.h"

#include <algorithm>

namespace isamap {

double elements_per_use(const Instruction& move, DType type) {
  double points = 1;
  for (const DimRange& r : move.ranges) points *= static_cast<double>(r.max);
  const auto& own = move.operands[1].dtype;
  if (own && is_bits(*own)) points = points * bits(*own) / bits(type);
  return std::max(1.0, points);
}

}  // namespace isamap
