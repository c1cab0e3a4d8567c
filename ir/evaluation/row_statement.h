// SPDX-License-Identifier: Apache-2.0
#pragma once
// One statement over its whole domain, a row of points at a time.

#include <vector>

#include "ir/evaluation/row_access.h"

namespace isamap {

/// `numbers[t]` holds tensor t; the written one is updated.
/// `from_zero`: as begins_with_zero (ir/scatter.h).
void run_statement(const Computation& statement, const std::vector<Tensor>& tensors, std::vector<Numbers>& numbers,
                   bool from_zero = true);

}  // namespace isamap
