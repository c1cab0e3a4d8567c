// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model without some of its statements: what only they used goes with them.

#include <vector>

#include "frontends/model.h"

namespace isamap {

/// Drops the statements that are `gone`, and the tensors and weights that neither a remaining statement nor the caller
/// uses. No recurrence may lose some of its statements.
void drop_statements(Model& model, const std::vector<bool>& gone);

/// The nodes of `from` are also stood for by `into`, which took it in.
void take_origin(Model& model, std::size_t from, std::size_t into);

}  // namespace isamap
