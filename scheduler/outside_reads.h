// SPDX-License-Identifier: Apache-2.0
#pragma once
// `outside I skip`: reads beyond a tensor are not made, and what they would have been used for is not computed. Walks
// are cut so that only their first and last steps ask.

#include <functional>

#include "scheduler/lower_nest_internal.h"

namespace isamap {

/// Does a term that reads `tensor` outside its shape leave the result as it is? A product with 0 that is added, or the
/// identity of the reduction by itself.
bool may_skip(const Kernel& kernel, const Computation& statement, TensorId tensor);

/// What is wrong with `outside TENSOR skip|pad` of a `do` line; nothing: it may stand there.
std::optional<Diagnostic> outside_problem(const Kernel& kernel, const Computation& statement,
                                          const std::string& tensor);

/// Does the `do` line of the nest say so of this tensor?
bool skips(const Nest& nest, const Tensor& tensor);

/// What must be >= 0 for all points of these tiles to be read inside; what always holds is left out. `never`: there is
/// no such point. Tiles whose points may differ are refused.
struct Inside {
  std::vector<AffineExpr> conditions;
  bool never = false;
};
Result<Inside> inside(const NestParts& parts, int access, const Tiles& tiles);
/// What `make` makes knowing these conditions, behind a guard that asks them.
Result<Nodes> where_inside(Lowering& lowering, const Inside& inside, const std::function<Result<Nodes>()>& make);

/// Steps [first, last) of a walk of `dim` by `tile` for which nothing is read outside by accesses that are skipped,
/// of `full` whole ones; all where no access asks.
struct Interior {
  std::int64_t first = 0, last = 0;
};
Interior interior(const NestParts& parts, const std::string& dim, std::int64_t tile, std::int64_t full,
                  const Tiles& tiles);

}  // namespace isamap
