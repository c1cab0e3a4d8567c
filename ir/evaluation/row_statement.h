// SPDX-License-Identifier: Apache-2.0
#pragma once
// One statement over its whole domain, a row of points at a time.

#include <vector>

#include "ir/evaluation/row_access.h"

namespace isamap {

/// `numbers[t]` holds tensor t; the written one is updated.
void run_statement(const Computation& statement, const std::vector<Tensor>& tensors, std::vector<Numbers>& numbers);

}  // namespace isamap
