// SPDX-License-Identifier: Apache-2.0
#pragma once
// Solves for operand values from the printed or encoded values of expressions in them: the inverse of printing and
// encoding.
//
// An equation is solved for its one unknown once its other references are known: `S.pitch[i] / 16 + 3` by the
// difference of two evaluations, `S >> 16` and `S & 0xffff` as bit slices of the unknown, which are combined. Finally
// every equation is checked.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isamap/expression.h"
#include "isamap/result.h"

namespace isamap {

struct Equation {
  const IntExpr* expr = nullptr;
  std::int64_t value = 0;
  std::string what;  ///< for messages: "dma.mode", "field 'rows'"
};

/// By the text of a reference: "C", "extent[i]", "S.pitch[i]", "st.scale". A register's `.index` is the operand itself.
using Values = std::map<std::string, std::int64_t>;
std::string key(const Reference& reference);

/// Adds the unknowns to `values`; nothing, or the equation that is violated or not solvable. `outer` evaluates other
/// references, state among them. `user`: the instruction named by the diagnostic.
std::optional<Diagnostic> solve(const std::vector<Equation>& equations, Values& values,
                                const std::function<std::optional<std::int64_t>(const Reference&)>& outer,
                                const std::string& user);

}  // namespace isamap
