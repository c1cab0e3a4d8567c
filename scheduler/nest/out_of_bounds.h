// SPDX-License-Identifier: Apache-2.0
#pragma once
// Legality of `outside I skip`: out-of-bounds reads, and the terms that use them, are skipped.

#include <optional>
#include <string>

#include "isamap/kernel.h"
#include "isamap/program.h"
#include "isamap/schedule.h"

namespace isamap {

/// Does a term that reads `tensor` out of bounds leave the result unchanged? An added product with 0, or the identity
/// of the reduction by itself.
bool may_skip(const Kernel& kernel, const Computation& statement, TensorId tensor);

/// Why `outside TENSOR skip|pad` is illegal on a `do` line; nothing: it is legal.
std::optional<Diagnostic> outside_problem(const Kernel& kernel, const Computation& statement,
                                          const std::string& tensor);

/// What skipping assumes of sums of products.
Assumption finite_products();
/// Must inputs be finite where terms of this statement are left out: is it a sum of products of reals?
bool assumes_finite(const Computation& statement);

/// Does the nest skip out-of-bounds reads of this tensor?
bool skips(const Nest& nest, const Tensor& tensor);

}  // namespace isamap
