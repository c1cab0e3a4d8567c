// SPDX-License-Identifier: Apache-2.0
#pragma once
// `outside I skip`: when may reads beyond a tensor's shape, and the terms that use them, be left out?

#include <optional>
#include <string>

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Does a term that reads `tensor` outside its shape leave the result as it is? A product with 0 that is added, or the
/// identity of the reduction by itself.
bool may_skip(const Kernel& kernel, const Computation& statement, TensorId tensor);

/// What is wrong with `outside TENSOR skip|pad` of a `do` line; nothing: it may stand there.
std::optional<Diagnostic> outside_problem(const Kernel& kernel, const Computation& statement,
                                          const std::string& tensor);

/// Does the `do` line of the nest say so of this tensor?
bool skips(const Nest& nest, const Tensor& tensor);

}  // namespace isamap
