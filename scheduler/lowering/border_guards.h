// SPDX-License-Identifier: Apache-2.0
#pragma once
// `outside I skip`: out-of-bounds reads and the terms that use them are guarded. First and last steps of loops are
// peeled, so that the interior has no guards (loop partitioning, as in Halide).

#include <functional>

#include "scheduler/lowering/lower_nest_internal.h"
#include "scheduler/nest/out_of_bounds.h"

namespace isamap {

/// Expressions that are >= 0 iff all reads of these tiles are in bounds, without those that always are. `never`: no
/// read is. Errors: points of one tile that differ.
struct BoundsConditions {
  std::vector<AffineExpr> conditions;
  bool never = false;
};
Result<BoundsConditions> bounds_conditions(const NestParts& parts, int access, const Tiles& tiles);
/// The nodes of `make`, lowered under these conditions, inside a guard.
Result<Nodes> under_conditions(Lowering& lowering, const BoundsConditions& bounds,
                               const std::function<Result<Nodes>()>& make);

/// Steps [first, last) of a loop of `dim` by `tile` in which all skipped accesses are in bounds, of `full` whole ones;
/// all if no access is skipped.
struct Interior {
  std::int64_t first = 0, last = 0;
};
Interior interior(const NestParts& parts, const std::string& dim, std::int64_t tile, std::int64_t full,
                  const Tiles& tiles);

}  // namespace isamap
