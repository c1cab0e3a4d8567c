// SPDX-License-Identifier: Apache-2.0
#pragma once
// `outside I skip`: reads beyond a tensor are not made, and what they would have been used for is not computed. Loops
// are cut so that only their first and last steps ask.

#include <functional>

#include "scheduler/lowering/lower_nest_internal.h"
#include "scheduler/nest/out_of_bounds.h"

namespace isamap {

/// What must be >= 0 for all points of these tiles to be read inside; what always holds is left out. `never`: there is
/// no such point. Tiles whose points may differ are refused.
struct BoundsConditions {
  std::vector<AffineExpr> conditions;
  bool never = false;
};
Result<BoundsConditions> bounds_conditions(const NestParts& parts, int access, const Tiles& tiles);
/// What `make` makes knowing these conditions, behind a guard that asks them.
Result<Nodes> under_conditions(Lowering& lowering, const BoundsConditions& bounds,
                               const std::function<Result<Nodes>()>& make);

/// Steps [first, last) of a loop of `dim` by `tile` for which nothing is read outside by accesses that are skipped,
/// of `full` whole ones; all where no access asks.
struct Interior {
  std::int64_t first = 0, last = 0;
};
Interior interior(const NestParts& parts, const std::string& dim, std::int64_t tile, std::int64_t full,
                  const Tiles& tiles);

}  // namespace isamap
